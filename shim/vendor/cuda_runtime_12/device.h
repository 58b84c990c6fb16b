// Device queries of CUDA 12: the version, and a structure of properties that had other fields.
// Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime_12::device {

// 12080, whichever CUDA 12 the program was built for: the newest that a stock wheel brings. Null is
// refused.
cudaError_t GetRuntimeVersion(int* version) noexcept;

// Writes a DeviceProperties (device_properties.h), which is what the vendor's header of CUDA 12
// calls cudaDeviceProp.
cudaError_t GetProperties(cudaDeviceProp* properties, int device) noexcept;

}  // namespace eidolon::shim::cuda_runtime_12::device
