// A torchrun command line, read as torchrun reads it: what each rank runs. Folded jobs start their
// live ranks without torchrun, which can only start all ranks of a server.
#pragma once

#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::agent::launch {

struct TorchrunCommand {
  // "torchrun", a path to it, or the Python of `python -m torch.distributed.run`.
  std::string launcher;
  bool launcher_is_python = false;
  std::string ranks_per_server;      // As given: "8", "gpu", "auto"; empty: not given.
  bool is_module = false;            // -m: a module's name instead of a script.
  bool is_python = true;             // Not with --no-python.
  std::vector<std::string> program;  // The script, module or program, and its arguments.
};

// Fails, with a sentence for the user, on commands that start their ranks otherwise, and on options
// that torchrun does not have.
base::Result<TorchrunCommand> ReadTorchrun(const std::vector<std::string>& command);

// What each rank executes. `torchrun_path`: where `launcher` was found, a script whose first line
// names its Python; not looked at when the launcher is a Python itself.
base::Result<std::vector<std::string>> RankCommand(const TorchrunCommand& torchrun,
                                                   const std::string& torchrun_path);

}  // namespace eidolon::agent::launch
