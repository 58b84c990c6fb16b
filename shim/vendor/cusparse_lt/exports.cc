// Exports libcusparseLt.so.0: every row of cusparse_lt.inc as a function. Decisions are in
// cusparse_lt.policy.
#include <cusparseLt.h>

#include "shim/api/rows.h"
#include "shim/vendor/cusparse_lt/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cusparseStatus_t> {
  static constexpr cusparseStatus_t kSuccess = CUSPARSE_STATUS_SUCCESS;
  static constexpr cusparseStatus_t kFailure = CUSPARSE_STATUS_INTERNAL_ERROR;
  static constexpr cusparseStatus_t kNotSupported = CUSPARSE_STATUS_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cusparse_lt
#define SHIM_STATUS cusparseStatus_t
#include "shim/vendor/cusparse_lt/cusparse_lt.inc"
