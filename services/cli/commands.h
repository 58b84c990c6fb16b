// The commands of `eidolon`. Each registers its flags; the chosen one answers the exit status: 0
// done, 1 failed, 2 wrong use, 3 (a job) fewer iterations than wanted or (search ask) no value.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "services/cli/globals.h"

namespace CLI {
class App;
}

namespace eidolon::base {
struct Error;
}

namespace eidolon::cli {

using Action = std::function<int()>;

// Each adds its subcommand(s) to `app` and sets `action` when it is chosen. `globals` and `action`
// must outlive the parsing.
void AddProfileCommands(CLI::App* app, const Globals* globals, Action* action);
void AddUpCommand(CLI::App* app, Action* action);
void AddLinkCommand(CLI::App* app, const Globals* globals, Action* action);
void AddRunCommand(CLI::App* app, const Globals* globals, Action* action);
// Adds commands below `profile`, whose own commands are AddProfileCommands'.
void AddProfileRunCommand(CLI::App* profile, const Globals* globals, Action* action);
void AddJobCommands(CLI::App* app, const Globals* globals, Action* action);
void AddReportCommand(CLI::App* app, const Globals* globals, Action* action);
void AddCompareCommand(CLI::App* app, const Globals* globals, Action* action);
void AddKernelCommands(CLI::App* app, Action* action);
void AddReplayCommand(CLI::App* app, const Globals* globals, Action* action);
void AddSearchCommand(CLI::App* app, const Globals* globals, Action* action);
void AddSweepCommand(CLI::App* app, const Globals* globals, Action* action);
void AddWhatIfCommand(CLI::App* app, const Globals* globals, Action* action);
void AddBenchCommand(CLI::App* app, Action* action);
void AddDoctorCommand(CLI::App* app, const Globals* globals, Action* action);
// A GPU's name that a user has typed becomes the one that is meant (names.h), where that is clear.
// `folder`: with the user's own models; empty: none.
void CompleteGpu(const std::string& folder, std::string* gpu);
// gpus, presets, fabrics.
void AddNamesCommands(CLI::App* app, Action* action);
// completion, explain; `schema` is the REST interface's OpenAPI document, and outlives the action.
void AddGuideCommands(CLI::App* app, std::string_view schema, Action* action);

// Prints "eidolon: ..." to stderr and answers 1.
int PrintFailure(const base::Error& error);

}  // namespace eidolon::cli
