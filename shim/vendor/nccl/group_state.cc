#include "shim/vendor/nccl/group_state.h"

#include <utility>

namespace eidolon::shim::nccl {
namespace {

struct State {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;  // The first.
};

thread_local State current;
thread_local std::vector<Batch> batches;

}  // namespace

bool InGroup() { return current.depth > 0; }

ncclResult_t NoteInGroup(ncclResult_t result) {
  if (InGroup() && current.failure == ncclSuccess) current.failure = result;
  return result;
}

void EnterGroup() { ++current.depth; }

void LeaveGroup() { --current.depth; }

ncclResult_t TakeGroupFailure() { return std::exchange(current.failure, ncclSuccess); }

void QueueInGroup(Communicator& communicator, cudaStream_t stream, const Operation& operation) {
  for (Batch& batch : batches) {
    if (batch.communicator != &communicator || batch.stream != stream) continue;
    batch.operations.push_back(operation);
    return;
  }
  batches.push_back({&communicator, stream, {operation}});
}

std::vector<Batch> TakeQueuedOperations() { return std::exchange(batches, {}); }

void DropQueuedOperations(const Communicator& communicator) {
  std::erase_if(batches, [&](const Batch& batch) { return batch.communicator == &communicator; });
}

}  // namespace eidolon::shim::nccl
