// The live ranks of a folded job on one server: started with the environment that their
// launcher would give them, ended together when one of them fails. Runs as a process of its own, in
// the launcher's place: whoever started it sees a command that ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/agent/launch/environment.h"
#include "services/agent/launch/launched_program.h"

namespace eidolon::agent::launch {

struct RankLaunch {
  std::uint32_t ranks = 1;  // Of the job.
  std::uint32_t ranks_per_server = 1;
  std::vector<std::uint32_t> live;  // Of this server, not empty.
  RankVariables style = RankVariables::kTorchrun;
  std::string preload;    // LD_PRELOAD of the ranks.
  Variables environment;  // More, the same for all ranks.
  // Command that each rank executes; not empty. The word "{LOCAL_RANK}" at its end becomes the
  // rank's.
  std::vector<std::string> command;
};

// Returns what a rank is started with. `own_threads`: the program says nothing of its number of
// threads (OMP_NUM_THREADS), which torchrun then sets to 1 where a server has several ranks.
Variables EnvironmentOf(const RankLaunch& launch, std::uint32_t rank, bool own_threads);

// The arguments that RunRanks reads back, behind the program's own first ones.
std::vector<std::string> LaunchArguments(const RankLaunch& launch);

// Starts the ranks that the arguments say and waits for them. The answer is the exit status: 0 when
// all ranks ended with it, otherwise that of the first one that failed; the others are ended then.
int RunRanks(const std::vector<std::string>& arguments);

}  // namespace eidolon::agent::launch
