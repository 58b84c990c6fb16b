// Groups: operations between ncclGroupStart and ncclGroupEnd start together. Everything NCCL does
// goes through here; an operation outside a group is a group of one.
#pragma once

#include <nccl.h>

#include <cstdint>

#include "services/ring/record.h"

namespace eidolon::shim::nccl {

struct Communicator;

// One call, with its buffers; `op.sequence` and `op.payload_bytes` are filled in when the group
// ends.
struct Operation {
  ring::CommunicationOp op{};
  const void* input = nullptr;
  void* output = nullptr;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
};

// Queues the operation in the calling thread's group, or issues it at once.
ncclResult_t Enqueue(Communicator& communicator, cudaStream_t stream, const Operation& operation);

// Gives the result back. A call that fails inside a group spoils it: its end gives the first such
// result, and nothing that was queued happens.
ncclResult_t NoteInGroup(ncclResult_t result);

// True between ncclGroupStart and ncclGroupEnd on the calling thread.
bool InGroup();

namespace group {

ncclResult_t Start();
ncclResult_t End();

}  // namespace group
}  // namespace eidolon::shim::nccl
