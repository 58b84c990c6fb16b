// What ranks without a process would have left in the rendezvous store. Only what is known to be
// theirs is made up; whatever else nobody sets stays unset, and whoever waits for it is named.
//
// Keys that PyTorch uses (measured with 2.9.1 and 2.15); G is the prefix of a group.
//   G//cuda//<n>           NCCL: the unique id of the group's n-th communicator. Its rank 0 sets it
//   G//cuda//<a>:<b>       of a pair of ranks; the lower one sets it
//   G//cuda//<n>/nccl_storekey_<n>_<i>
//                          of a communicator of many ranks: the id of its i-th root, one for each
//                          128 ranks
//   G//cuda//nccl4py_uid   the same of the backend nccl4py
//   store_based_barrier_key:<name>
//                          with TORCH_DIST_INIT_BARRIER=1: counts the ranks that have come to
//                          init_process_group or new_group, which are all ranks of the job, members
//                          of the group or not. The last one sets <key>:last_worker
//   G/<hash>//store_based_barrier_key:<hash>
//                          the same of a group that only its members make, which is what
//                          use_local_synchronization says. The store does not know who they are:
//                          the last one is taken to be a mirrored rank, which has come when a live
//                          one asks. Nothing depends on it: a communicator waits for its live
//                          members
//   <key>/num_members      Store.barrier of a PrefixStore, and the barrier of torch.distributed's
//                          elastic.utils.store: taken to count all ranks of the job. The last one
//                          sets <key>/last_member
//   init/                  counts the store's clients. Only a process that serves the store itself
//                          reads it, hence nobody here
// Not made up, since mirrored ranks listen at no address. From PyTorch 2.8 on nobody asks: pairs of
// a Gloo group are connected when they are used, and none with a mirrored rank is
// (shim/pytorch/gloo):
//   G//<device>//<n>/<r>   the address of rank r of a Gloo group
//   G//<device>//pg_wrapper:<n>/<n>/<r>
//                          the same in a group that TORCH_DISTRIBUTED_DEBUG=DETAIL makes
//   AsyncCheckpointProcess/...
//                          the Gloo group of torch.distributed.checkpoint's processes
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

// Returns the value that a mirrored rank would have set for a key that is waited for and not set.
// All who ask get the same value.
std::optional<std::string> MirroredValue(std::string_view key);

// Returns what mirrored ranks add to a counter that live ranks have counted up to `sum`: their
// number, when all live ranks of the job have come and the key counts the ranks of the whole job;
// otherwise 0.
std::int64_t MirroredCount(const World& world, std::string_view key, std::int64_t sum);

// Returns how many mirrored ranks come to TCPStore's barrier of `ranks` ranks when `arrived` have:
// all of them once all live ranks have, at a barrier of the whole job. Of any other barrier the
// store does not know who takes part: 0.
std::int64_t MirroredRanksAtBarrier(const World& world, std::int64_t ranks, std::int64_t arrived);

// Returns why no rank sets the key, as part of a sentence; it is empty where that is not known.
std::string WhyNobodySets(std::string_view key);

}  // namespace eidolon::agent::rendezvous
