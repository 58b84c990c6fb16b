#include "shim/vendor/cuda_runtime/error_state.h"

#include <utility>

namespace eidolon::shim::cuda_runtime::error_state {
namespace {

[[gnu::tls_model("initial-exec")]] constinit thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

cudaError_t Finish(gpu::Status status) noexcept {
  // Both libraries use the same numbers for what Status can say.
  return status == gpu::Status::kSuccess ? cudaSuccess : Fail(static_cast<cudaError_t>(status));
}

cudaError_t Fail(cudaError_t error) noexcept {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

cudaError_t GetLast() noexcept { return std::exchange(last_error, cudaSuccess); }
cudaError_t PeekLast() noexcept { return last_error; }

}  // namespace eidolon::shim::cuda_runtime::error_state
