// How a status becomes a CUresult (the numbers are the driver's own), and what calls ask of the
// calling thread first.
#pragma once

#include <cuda.h>

#include "shim/gpu/context/context.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::cuda_driver {

inline CUresult ToResult(gpu::Status status) noexcept { return static_cast<CUresult>(status); }

// Returns what calls that need a current context answer without one.
inline gpu::Status RequireContext() noexcept {
  if (gpu::CurrentContext() != nullptr) return gpu::Status::kSuccess;
  return gpu::IsInitialized() ? gpu::Status::kInvalidContext : gpu::Status::kNotInitialized;
}

// Returns what calls about a device answer before cuInit, and for a number that is not a device.
inline gpu::Status CheckDevice(int device) noexcept {
  if (!gpu::IsInitialized()) return gpu::Status::kNotInitialized;
  const bool exists = device >= 0 && device < gpu::DeviceCount();
  return exists ? gpu::Status::kSuccess : gpu::Status::kInvalidDevice;
}

}  // namespace eidolon::shim::cuda_driver
