// Groups: operations between ncclGroupStart and ncclGroupEnd start together. Everything NCCL does
// goes through here; an operation outside a group is a group of one.
#pragma once

#include <nccl.h>

#include "shim/vendor/nccl/operation.h"

namespace eidolon::shim::nccl {

struct Communicator;

// Queues the operation in the calling thread's group, or issues it at once.
ncclResult_t Enqueue(Communicator& communicator, cudaStream_t stream, const Operation& operation);

namespace group {

ncclResult_t Start();
ncclResult_t End();

}  // namespace group
}  // namespace eidolon::shim::nccl
