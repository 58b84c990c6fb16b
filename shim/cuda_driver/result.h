// How a status becomes a CUresult: the numbers are the driver's own.
#pragma once

#include <cuda.h>

#include "shim/gpu/context.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::cuda_driver {

inline CUresult ToResult(gpu::Status status) noexcept { return static_cast<CUresult>(status); }

// What calls that need a current context answer without one.
inline gpu::Status RequireContext() noexcept {
  if (gpu::CurrentContext() != nullptr) return gpu::Status::kSuccess;
  return gpu::IsInitialized() ? gpu::Status::kInvalidContext : gpu::Status::kNotInitialized;
}

}  // namespace eidolon::shim::cuda_driver
