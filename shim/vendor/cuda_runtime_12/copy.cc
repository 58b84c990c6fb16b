#include "shim/vendor/cuda_runtime_12/copy.h"

#include <cstdint>

#include "shim/vendor/cuda_runtime/copy.h"

namespace eidolon::shim::cuda_runtime_12::copy {
namespace {

// Runs the copies in order, up to one that fails, and says which that was.
template <typename Copy>
cudaError_t RunEach(std::size_t count, std::size_t* failed, Copy&& copy) {
  for (std::size_t i = 0; i < count; ++i) {
    const cudaError_t code = copy(i);
    if (code == cudaSuccess) continue;
    if (failed != nullptr) *failed = i;
    return code;
  }
  return cudaSuccess;
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
  if (failed != nullptr) *failed = SIZE_MAX;
  if (count == 0 || targets == nullptr || sources == nullptr || sizes == nullptr) {
    return cuda_runtime::copy::CopyBatchAsync(targets, sources, sizes, count, attributes,
                                              attribute_indices, attribute_count, stream);
  }
  return RunEach(count, failed, [&](std::size_t i) {
    return cuda_runtime::copy::CopyAsync(targets[i], sources[i], sizes[i], cudaMemcpyDefault,
                                         stream);
  });
}

cudaError_t Copy3DBatchAsync(std::size_t count, cudaMemcpy3DBatchOp* operations,
                             std::size_t* failed, unsigned long long flags,
                             cudaStream_t stream) noexcept {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (count == 0 || operations == nullptr) {
    return cuda_runtime::copy::Copy3DBatchAsync(count, operations, flags, stream);
  }
  return RunEach(count, failed, [&](std::size_t i) {
    return cuda_runtime::copy::Copy3DWithAttributesAsync(&operations[i], flags, stream);
  });
}

}  // namespace eidolon::shim::cuda_runtime_12::copy
