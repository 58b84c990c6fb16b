// Describes the processes that a launcher's command line starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/agent/launch/environment.h"

namespace eidolon::agent::launch {

// Variables that a rank finds, besides those of torchrun.
enum class RankVariables : std::uint8_t { kTorchrun, kDeepSpeed, kSlurm, kOpenMpi };

struct LauncherCommand {
  // "torchrun", a path to it, or the Python of `python -m torch.distributed.run`.
  std::string launcher;
  bool launcher_is_python = false;
  RankVariables variables = RankVariables::kTorchrun;
  std::string ranks;                 // Of the job, as given; empty: not given.
  std::string ranks_per_server;      // As given: "8", "gpu", "auto"; empty: not given.
  bool is_module = false;            // -m: a module's name instead of a script.
  bool is_python = true;             // The program is run by the launcher's Python.
  bool passes_local_rank = false;    // The program's first argument is --local_rank=N.
  Variables environment;             // That the launcher gives to all ranks.
  std::vector<std::string> program;  // The script, module or program, and its arguments.
  // Of launchers that set variables of their own from files: their command up to the program, for
  // one process; it starts the live ranks.
  std::vector<std::string> wrapper;
};

}  // namespace eidolon::agent::launch
