// Compares what the live ranks of a class of a folded job launch between their calls of NCCL. Ranks
// of one class are taken to be alike: where two of them launch other work, the ranks that are
// mirrored from one of them may be like either.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/network/communicator/operation.h"

namespace eidolon::network::communicator {

// Work that a rank has launched between two of its calls.
struct LaunchedWork {
  std::uint64_t launches = 0;  // Kernels, copies, memsets.
  std::uint64_t digest = 0;    // Of their names, grids and durations, in order.
  bool operator==(const LaunchedWork&) const = default;
};

// This class is not thread-safe. What it answers does not depend on which rank calls first.
class WorkTable {
 public:
  explicit WorkTable(const folding::Fold& fold);

  struct Difference {
    std::uint32_t reference = 0;  // The lowest live rank of the class.
    std::string where;            // "rank 0 launches 12 kernels ... before all_gather of ...".
  };
  // Live rank `rank` has launched `work` and now calls `operation`. Answers the differences between
  // ranks of its class that show with it: each rank's n-th call is compared with that of the
  // class's lowest live rank, until their calls are not of the same kind.
  std::vector<Difference> Add(std::uint32_t rank, const LaunchedWork& work,
                              const Operation& operation);

 private:
  struct Call {
    LaunchedWork work;
    Operation operation;
  };
  struct Step {
    std::optional<Call> reference;
    std::map<std::uint32_t, Call> others;  // By rank.
    std::uint32_t called = 0;
  };
  struct Class {
    std::uint32_t reference = 0;
    std::uint32_t live = 0;
    std::map<std::uint32_t, std::uint64_t> next;  // By rank: the number of its next call.
    std::map<std::uint32_t, bool> astray;         // Ranks that call other things.
    std::map<std::uint64_t, Step> steps;          // By the call's number; until all have called.
  };
  static std::optional<Difference> Compare(Class& one, const Call& reference, std::uint32_t rank,
                                           const Call& call);

  folding::Fold fold_;
  std::map<std::uint32_t, Class> classes_;  // Those with more than one live rank.
};

}  // namespace eidolon::network::communicator
