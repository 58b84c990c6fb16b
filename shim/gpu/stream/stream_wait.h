// Waiting for streams and asking whether they are done.
#pragma once

#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"

namespace eidolon::shim::gpu {

// Waits for the stream's work, its host callbacks and outstanding values.
Status SynchronizeStream(StreamHandle handle) noexcept;
Status QueryStream(StreamHandle handle) noexcept;
// Waits for every stream of the calling thread's current device.
Status SynchronizeDevice() noexcept;

}  // namespace eidolon::shim::gpu
