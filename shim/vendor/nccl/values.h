// The real bytes of small NCCL calls: inputs that are known travel with the record, results come
// back when something looks at them.
#pragma once

#include <cstddef>
#include <vector>

#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::nccl {

struct Communicator;
struct Operation;

// Appends the operation's input to the payload and sets op.payload_bytes, when it is small and
// known and the operation's result can be computed from such inputs.
void AttachInput(Operation& operation, std::vector<std::byte>& payload);

// Tells the value store what the operation does to this rank's output. Requires: op.sequence and
// op.payload_bytes are set; the stream is not being captured.
void NoteOutput(const Communicator& communicator, const Operation& operation);

}  // namespace eidolon::shim::nccl
