// Records whether the calling thread is between ncclGroupStart and ncclGroupEnd, what failed there,
// and what is queued for the end.
#pragma once

#include <nccl.h>

#include <vector>

#include "shim/vendor/nccl/operation.h"

namespace eidolon::shim::nccl {

struct Communicator;

// Gives the result back. A call that fails inside a group spoils it: its end gives the first such
// result, and nothing that was queued happens.
ncclResult_t NoteInGroup(ncclResult_t result);

// True between ncclGroupStart and ncclGroupEnd on the calling thread.
bool InGroup();

// One level deeper; one level up again. Requires for LeaveGroup: InGroup.
void EnterGroup();
void LeaveGroup();
// The first failure since the outermost start; forgets it.
ncclResult_t TakeGroupFailure();

// Operations of one communicator and stream: one record.
struct Batch {
  Communicator* communicator;
  cudaStream_t stream;
  std::vector<Operation> operations;
};
// Queues the call for the group's end. Requires: InGroup.
void QueueInGroup(Communicator& communicator, cudaStream_t stream, const Operation& operation);
std::vector<Batch> TakeQueuedOperations();
// The communicator ends: the group does none of its operations.
void DropQueuedOperations(const Communicator& communicator);

}  // namespace eidolon::shim::nccl
