// The environment of a live rank: what its launcher, or the scheduler that starts it, would set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/agent/launch/environment.h"
#include "services/agent/launch/launched_program.h"

namespace eidolon::agent::launch {

// A rank's place in the job.
struct RankPlace {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;  // Of the job.
  std::uint32_t ranks_per_server = 1;

  std::uint32_t local_rank() const { return rank % ranks_per_server; }
  std::uint32_t server() const { return rank / ranks_per_server; }
  std::uint32_t servers() const { return ranks / ranks_per_server; }
};

// torchrun's variables, and those of the launcher that has the ranks' programs begin. Programs that
// find their place in a scheduler's variables find it in either.
Variables RankEnvironment(const RankPlace& place, RankVariables variables);

// "deepspeed" and the like, for command lines.
std::string_view Name(RankVariables variables);
std::optional<RankVariables> RankVariablesOf(std::string_view name);

}  // namespace eidolon::agent::launch
