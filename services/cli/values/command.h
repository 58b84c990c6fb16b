// `eidolon values ...`: how right the values are that kernels compute here, and why a kernel is not
// computed.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace eidolon::cli::values {

// Adds `values` and its subcommands to `app`; the chosen one sets `action`, which answers the exit
// status. Both must outlive the parsing. `programs`: the folder of this build's programs.
void AddCommands(CLI::App* app, const char* programs, std::function<int()>* action);

}  // namespace eidolon::cli::values
