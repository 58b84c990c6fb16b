// cudaGetDeviceProperties: the attributes again, as one struct.
#include "shim/vendor/cuda_runtime/device.h"
#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/fill_properties.h"

namespace eidolon::shim::cuda_runtime::device {

cudaError_t GetProperties(cudaDeviceProp* properties, int device) noexcept {
  if (properties == nullptr) return error_state::Finish(gpu::Status::kInvalidValue);
  gpu::Initialize();
  if (device < 0 || device >= gpu::DeviceCount())
    return error_state::Finish(gpu::Status::kInvalidDevice);
  FillProperties(*properties, device);
  return cudaSuccess;
}

}  // namespace eidolon::shim::cuda_runtime::device
