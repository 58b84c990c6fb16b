// The Gloo groups of this process that have mirrored ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/folding/fold.h"
#include "services/contract/folding/rank_runs.h"
#include "services/contract/folding/twins.h"

namespace eidolon::shim::gloo {

// Ends the process with a sentence that the agent gives as the reason why the job failed.
[[noreturn]] void EndJob(const std::string& sentence);

// Threads: any. Ranks are those of the group unless they are called global.
class Group {
 public:
  // `members`: their global ranks, or why they are not known, which ends the job when the group is
  // used. Keeps the fold.
  // `is_pytorchs`: what passes in it is not the program's, but made to compare its collectives
  // (TORCH_DISTRIBUTED_DEBUG=DETAIL).
  Group(const folding::Fold& fold, base::Result<std::vector<folding::RankRun>> members,
        bool is_pytorchs = false);

  // Returns whether a member is a mirrored rank, or may be.
  bool has_mirrored_ranks() const { return has_mirrored_ranks_; }
  bool is_pytorchs() const { return is_pytorchs_; }
  // End the job when nobody knows who the members are, or whom one of them mirrors.
  const folding::Twins& twins() const;
  std::uint32_t GlobalOf(std::int32_t rank) const;

 private:
  const folding::Fold& fold_;
  const base::Result<std::vector<folding::RankRun>> members_;
  const bool is_pytorchs_;
  bool has_mirrored_ranks_ = true;

  mutable std::mutex mutex_;  // Guards what follows, which is found at the first use.
  mutable std::optional<folding::Twins> twins_;
};

// Keeps a group by the addresses of the objects of Gloo that belong to it. A null group: there is
// none any more, another object may have been here.
void KeepGroup(const void* object, std::shared_ptr<const Group> group);
// Null: an object of a group without mirrored ranks.
std::shared_ptr<const Group> FindGroup(const void* object);

}  // namespace eidolon::shim::gloo
