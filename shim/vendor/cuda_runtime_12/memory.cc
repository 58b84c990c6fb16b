#include "shim/vendor/cuda_runtime_12/memory.h"

#include <cstddef>
#include <cstring>

#include "shim/vendor/cuda_runtime/memory.h"

namespace eidolon::shim::cuda_runtime_12::memory {
namespace {

// cudaPointerAttributes of driver_types.h of CUDA 12.
struct PointerAttributes {
  cudaMemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
};

// A prefix of the newer structure.
static_assert(sizeof(PointerAttributes) == 24);
static_assert(offsetof(PointerAttributes, device) == offsetof(cudaPointerAttributes, device));
static_assert(offsetof(PointerAttributes, device_pointer) ==
              offsetof(cudaPointerAttributes, devicePointer));
static_assert(offsetof(PointerAttributes, host_pointer) ==
              offsetof(cudaPointerAttributes, hostPointer));

}  // namespace

cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) noexcept {
  if (attributes == nullptr) return cuda_runtime::memory::PointerGetAttributes(nullptr, pointer);
  cudaPointerAttributes newer;
  const cudaError_t code = cuda_runtime::memory::PointerGetAttributes(&newer, pointer);
  std::memcpy(static_cast<void*>(attributes), &newer, sizeof(PointerAttributes));
  return code;
}

}  // namespace eidolon::shim::cuda_runtime_12::memory
