// What ranks without a process would have left in the rendezvous store. Only what is known to be
// theirs is made up; whatever else nobody sets stays unset, and whoever waits for it is named.
//
// Keys that PyTorch's NCCL backend uses, behind "<process group>//cuda//" (measured with
// 2.9.1 and 2.15):
//   N, a number           the unique id of a group's N-th communicator; set by its rank 0
//   <a>:<b>               of a pair of ranks; set by the lower one
//   nccl_storekey_<N>_<i> of a communicator of many ranks: the id of its i-th root, one for each
//                         128 ranks
//   store_based_barrier_key:<group>[:<n>]   counts the ranks of a group that have come
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::agent::rendezvous {

struct World {
  std::int32_t size = 0;
  std::vector<std::int32_t> live;  // Ascending.
};

// The value of a key that somebody waits for and nobody set, when a ghost would have set it: the
// unique id of a communicator whose first rank is a ghost. The same for all who ask.
std::optional<std::string> GhostValue(std::string_view key);

// What ghosts add to a counter that live ranks have counted up to `sum`: their number, when all
// live ranks of the job have come and the key counts the ranks of the whole job; otherwise 0.
std::int64_t GhostCount(const World& world, std::string_view key, std::int64_t sum);

}  // namespace eidolon::agent::rendezvous
