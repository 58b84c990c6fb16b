// The runtime's view of outcomes: how a status becomes a cudaError_t, and the calling thread's last
// error.
#pragma once

#include <cuda_runtime_api.h>

#include "shim/gpu/status.h"

namespace eidolon::shim::cuda_runtime::error_state {

// The answer of a call that ended so; a failure becomes the thread's last error. Not-ready is not
// a failure.
cudaError_t Finish(gpu::Status status) noexcept;
// The same for codes that only the runtime has.
cudaError_t Fail(cudaError_t error) noexcept;

// cudaGetLastError (clears it), cudaPeekAtLastError.
cudaError_t GetLast() noexcept;
cudaError_t PeekLast() noexcept;

}  // namespace eidolon::shim::cuda_runtime::error_state
