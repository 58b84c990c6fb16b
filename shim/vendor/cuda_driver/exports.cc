// Exports libcuda.so.1: every row of cuda_driver.inc as a function. Decisions are in
// cuda_driver.policy.
#include "shim/vendor/cuda_driver/vendor.h"

// This stands behind the above, which decides what cuda.h declares.
#define SHIM_TELLS_ARGUMENTS
#include "shim/api/rows.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_driver/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<CUresult> {
  static constexpr CUresult kSuccess = CUDA_SUCCESS;
  static constexpr CUresult kFailure = CUDA_ERROR_UNKNOWN;
  static constexpr CUresult kNotSupported = CUDA_ERROR_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cuda_driver
#define SHIM_STATUS CUresult
#include "shim/vendor/cuda_driver/cuda_driver.inc"
