// Exports libcudart.so.13: every row of cuda_runtime.inc as a function. Decisions are in
// cuda_runtime.policy.
#define __CUDA_API_VERSION_INTERNAL  // Per-thread variants and plain functions under their own
                                     // names.
#include <cuda_egl_interop.h>
#include <cuda_gl_interop.h>
#include <cuda_runtime_api.h>
#include <cuda_vdpau_interop.h>

#define SHIM_TELLS_ARGUMENTS
#include "shim/api/rows.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime/codes.h"
#include "shim/vendor/cuda_runtime/handlers.h"
#include "shim/vendor/cuda_runtime/supplement.h"

#define SHIM_HANDLERS ::eidolon::shim::cuda_runtime
#define SHIM_STATUS cudaError_t
#include "shim/vendor/cuda_runtime/cuda_runtime.inc"
