// What libcudart.so.13 exports: every row of cuda_runtime.inc as a function. Decisions are in
// cuda_runtime.policy.
#define __CUDA_API_VERSION_INTERNAL  // Per-thread variants and plain functions under their own
                                     // names.
#include <cuda_egl_interop.h>
#include <cuda_gl_interop.h>
#include <cuda_runtime_api.h>
#include <cuda_vdpau_interop.h>

#include "shim/api/rows.h"
#include "shim/cuda_runtime/handlers.h"
#include "shim/cuda_runtime/supplement.h"
#include "shim/gpu/stream.h"

namespace eidolon::shim::api {

template <>
struct Codes<cudaError_t> {
  static constexpr cudaError_t kSuccess = cudaSuccess;
  static constexpr cudaError_t kFailure = cudaErrorUnknown;
  static constexpr cudaError_t kNotSupported = cudaErrorNotSupported;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cuda_runtime
#define SHIM_STATUS cudaError_t
#include "shim/cuda_runtime/cuda_runtime.inc"
