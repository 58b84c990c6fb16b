// Exports libcusparse.so.12: every row of cusparse.inc as a function. Decisions are in
// cusparse.policy.
#include <cusparse.h>

#include "shim/api/rows.h"
#include "shim/vendor/cusparse/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cusparseStatus_t> {
  static constexpr cusparseStatus_t kSuccess = CUSPARSE_STATUS_SUCCESS;
  static constexpr cusparseStatus_t kFailure = CUSPARSE_STATUS_INTERNAL_ERROR;
  static constexpr cusparseStatus_t kNotSupported = CUSPARSE_STATUS_NOT_SUPPORTED;
};

// Getters of a legacy descriptor that nobody could have made: their first value.
template <typename Value>
struct FirstValue {
  static constexpr Value kSuccess{};
  static constexpr Value kFailure{};
  static constexpr Value kNotSupported{};
};
template <>
struct Codes<cusparseMatrixType_t> : FirstValue<cusparseMatrixType_t> {};
template <>
struct Codes<cusparseFillMode_t> : FirstValue<cusparseFillMode_t> {};
template <>
struct Codes<cusparseDiagType_t> : FirstValue<cusparseDiagType_t> {};
template <>
struct Codes<cusparseIndexBase_t> : FirstValue<cusparseIndexBase_t> {};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cusparse
#define SHIM_STATUS cusparseStatus_t
#include "shim/vendor/cusparse/cusparse.inc"
