// `eidolon net ...`: the network model by itself, without a job.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace eidolon::cli::net {

// Adds `net` and its subcommands to `app`; the chosen one sets `action`, which answers the exit
// status. Both must outlive the parsing.
void AddCommands(CLI::App* app, std::function<int()>* action);

}  // namespace eidolon::cli::net
