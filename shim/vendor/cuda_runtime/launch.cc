// `kernel<<<...>>>(...)` is compiled into a call that pushes the configuration and a stub that pops
// it and launches, so the configuration waits in the thread meanwhile. It is a stack because
// evaluating the arguments may launch, too. A launch whose grid or block no device takes has a code
// of its own in the runtime (cudaErrorInvalidConfiguration), which Status cannot tell from other
// invalid values.
#include "shim/vendor/cuda_runtime/launch.h"

#include <array>

#include "shim/gpu/launch/launch.h"
#include "shim/gpu/launch/launch_check.h"
#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/function.h"
#include "shim/vendor/cuda_runtime/launch_shape.h"

namespace eidolon::shim::cuda_runtime::launch {
namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

// A launch may stand in the arguments of another, hence a stack; nobody nests deeper than a few.
constexpr std::size_t kDeepest = 8;
struct Stack {
  std::size_t depth;
  alignas(Configuration) std::byte entries[kDeepest * sizeof(Configuration)];

  Configuration* at(std::size_t i) { return reinterpret_cast<Configuration*>(entries) + i; }
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Stack stack{};

cudaError_t Launch(gpu::Kernel* kernel, const gpu::LaunchShape& shape, void** arguments,
                   cudaStream_t stream) {
  const gpu::Status status = gpu::LaunchKernel(*kernel, shape, {.pointers = arguments}, stream);
  if (status == gpu::Status::kInvalidValue && !gpu::IsPossibleShape(shape)) {
    return error_state::Fail(cudaErrorInvalidConfiguration);
  }
  return error_state::Finish(status);
}

cudaError_t LaunchFunction(const void* symbol, const gpu::LaunchShape& shape, void** arguments,
                           cudaStream_t stream) {
  gpu::Kernel* kernel = nullptr;
  if (const cudaError_t error = function::Find(symbol, &kernel); error != cudaSuccess) return error;
  return Launch(kernel, shape, arguments, stream);
}

}  // namespace

unsigned PushConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                           struct CUstream_st* stream) noexcept {
  if (stack.depth == kDeepest) return cudaErrorInvalidConfiguration;
  *stack.at(stack.depth++) = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t PopConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                             void* stream) noexcept {
  if (stack.depth == 0) return error_state::Fail(cudaErrorMissingConfiguration);
  const Configuration& top = *stack.at(--stack.depth);
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t LaunchKernelHandle(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  gpu::Kernel* kernel = gpu::LookupKernel(handle);
  if (kernel == nullptr) return error_state::Fail(cudaErrorInvalidResourceHandle);
  return Launch(kernel, {ToDim3(grid), ToDim3(block), {}, shared_bytes, false}, arguments, stream);
}

cudaError_t LaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                         std::size_t shared_bytes, cudaStream_t stream) {
  return LaunchFunction(function, {ToDim3(grid), ToDim3(block), {}, shared_bytes, false}, arguments,
                        stream);
}

cudaError_t LaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                    std::size_t shared_bytes, cudaStream_t stream) {
  return LaunchFunction(function, {ToDim3(grid), ToDim3(block), {}, shared_bytes, true}, arguments,
                        stream);
}

cudaError_t LaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                            void** arguments) {
  if (config == nullptr) return error_state::Fail(cudaErrorInvalidValue);
  return LaunchFunction(function, ShapeOf(*config), arguments, config->stream);
}

}  // namespace eidolon::shim::cuda_runtime::launch
