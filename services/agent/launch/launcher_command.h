// The command line of a launcher, read as the launcher reads it: what each rank runs. Folded jobs
// start their live ranks without the launcher, which can only start all ranks of a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/agent/launch/launched_program.h"
#include "services/base/error.h"

namespace eidolon::agent::launch {

// torchrun, python -m torch.distributed.run, accelerate launch, deepspeed, srun, and Open MPI's
// mpirun, also around each other. Fails, with a sentence for the user, on commands that start their
// ranks otherwise, and on options that the launcher does not have.
base::Result<LauncherCommand> ReadLauncher(const std::vector<std::string>& command);

// Fails, with a sentence for the user, when a job of several servers begins with a torchrun, also
// below srun, mpirun or in a script for `sh -c`, that lets each server meet itself only.
base::Result<void> CheckServersMeet(const std::vector<std::string>& command, std::uint32_t servers);

// Returns what each rank executes. `launcher_path`: where `launcher` was found, a script whose
// first line names its Python; not looked at when the launcher is a Python itself, or the program
// needs none.
base::Result<std::vector<std::string>> RankCommand(const LauncherCommand& read,
                                                   const std::string& launcher_path);

}  // namespace eidolon::agent::launch
