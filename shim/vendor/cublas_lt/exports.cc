// Exports libcublasLt.so.13: every row of cublas_lt.inc as a function. Decisions are in
// cublas_lt.policy.
#include <cublasLt.h>

#include "shim/api/rows.h"
#include "shim/vendor/cublas_lt/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cublasStatus_t> {
  static constexpr cublasStatus_t kSuccess = CUBLAS_STATUS_SUCCESS;
  static constexpr cublasStatus_t kFailure = CUBLAS_STATUS_INTERNAL_ERROR;
  static constexpr cublasStatus_t kNotSupported = CUBLAS_STATUS_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cublas_lt
#define SHIM_STATUS cublasStatus_t
#include "shim/vendor/cublas_lt/cublas_lt.inc"
