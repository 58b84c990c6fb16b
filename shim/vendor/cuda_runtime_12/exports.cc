// Exports what differs in libcudart.so.12 from libcudart.so.13: every row of cuda_runtime_12.inc as
// a function. Decisions are in cuda_runtime_12.policy; names that end in _12 are bound to the
// vendor's by the facade (shim/vendor/facade/older.sh).
#define __CUDA_API_VERSION_INTERNAL  // Per-thread variants and plain functions under their own
                                     // names.
#include <cuda_runtime_api.h>

#include "shim/api/rows.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime/codes.h"
#include "shim/vendor/cuda_runtime_12/handlers.h"

#define SHIM_HANDLERS ::eidolon::shim::cuda_runtime_12
#define SHIM_STATUS cudaError_t
#include "shim/vendor/cuda_runtime_12/cuda_runtime_12.inc"
