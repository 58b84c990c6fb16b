// Queries about memory with the structures of CUDA 12. Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime_12::memory {

// Writes the 24 bytes of a PointerAttributes (memory.cc); in CUDA 13 the structure has reserved
// bytes behind them.
cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) noexcept;

}  // namespace eidolon::shim::cuda_runtime_12::memory
