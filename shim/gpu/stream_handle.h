// What programs hold for a stream: cudaStream_t and CUstream are the same pointer. Null and 1 are
// the legacy default stream, 2 the calling thread's default stream; others are addresses of a
// Stream.
#pragma once

namespace eidolon::shim::gpu {

using StreamHandle = void*;

}  // namespace eidolon::shim::gpu
