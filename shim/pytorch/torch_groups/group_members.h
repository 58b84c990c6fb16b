// Determines which ranks of the job the members of a group are. Neither NCCL nor Gloo says: who
// makes a communicator knows its own rank and the size alone. In folded jobs most members never
// call, so that somebody has to know who they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/folding/rank_runs.h"

namespace eidolon::shim::torch_groups {

// Facts that a caller knows of its group.
struct GroupEntry {
  std::string_view name;    // ncclConfig_t::commName; may be empty.
  std::uint32_t size = 0;   // 0: not known, as in a split.
  std::uint32_t rank = 0;   // The caller's, in the group.
  std::uint32_t world = 0;  // Ranks of the job.
};

// The group's ranks of the job in ascending order. A group as large as the job is the whole job;
// others are those that torch.distributed registered, or is about to make further up this thread's
// Python stack. Fails, with a sentence for the user, when neither tells.
base::Result<std::vector<folding::RankRun>> MembersOf(const GroupEntry& entry);

}  // namespace eidolon::shim::torch_groups
