// Exports libcufile.so.0: every row of cufile.inc as a function. Decisions are in cufile.policy.
#include <cufile.h>
#undef cuFileDriverClose  // Old and new function are both exported.

#include "shim/api/rows.h"
#include "shim/vendor/cufile/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<CUfileError_t> {
  static constexpr CUfileError_t kSuccess{CU_FILE_SUCCESS, CUDA_SUCCESS};
  static constexpr CUfileError_t kFailure{CU_FILE_INTERNAL_ERROR, CUDA_SUCCESS};
  static constexpr CUfileError_t kNotSupported{CU_FILE_PLATFORM_NOT_SUPPORTED, CUDA_SUCCESS};
};

// Bytes moved, or a negative error.
template <>
struct Codes<ssize_t> {
  static constexpr ssize_t kSuccess = 0;
  static constexpr ssize_t kFailure = -CU_FILE_INTERNAL_ERROR;
  static constexpr ssize_t kNotSupported = -CU_FILE_PLATFORM_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cufile
#define SHIM_STATUS CUfileError_t
#include "shim/vendor/cufile/cufile.inc"
