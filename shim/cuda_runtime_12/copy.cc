#include "shim/cuda_runtime_12/copy.h"

#include "shim/cuda_runtime/copy.h"

namespace eidolon::shim::cuda_runtime_12::copy {
namespace {

cudaError_t Report(cudaError_t code, std::size_t count, std::size_t* failed) {
  if (code != cudaSuccess && failed != nullptr) *failed = count;
  return code;
}

}  // namespace

cudaError_t PrefetchAsync(const void* pointer, std::size_t count, int device,
                          cudaStream_t stream) noexcept {
  const bool to_host = device == cudaCpuDeviceId;
  const cudaMemLocation location = {
      .type = to_host ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
      .id = to_host ? 0 : device};
  return cuda_runtime::copy::PrefetchAsync(pointer, count, location, 0, stream);
}

cudaError_t CopyBatchAsync(void** targets, void** sources, std::size_t* sizes, std::size_t count,
                           cudaMemcpyAttributes* attributes, std::size_t* attribute_indices,
                           std::size_t attribute_count, std::size_t* failed,
                           cudaStream_t stream) noexcept {
  return Report(cuda_runtime::copy::CopyBatchAsync(targets, sources, sizes, count, attributes,
                                                   attribute_indices, attribute_count, stream),
                count, failed);
}

cudaError_t Copy3DBatchAsync(std::size_t count, cudaMemcpy3DBatchOp* operations,
                             std::size_t* failed, unsigned long long flags,
                             cudaStream_t stream) noexcept {
  return Report(cuda_runtime::copy::Copy3DBatchAsync(count, operations, flags, stream), count,
                failed);
}

}  // namespace eidolon::shim::cuda_runtime_12::copy
