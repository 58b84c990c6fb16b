// Exports libcusolver.so.12: every row of cusolver.inc as a function. Decisions are in
// cusolver.policy.
#include <cusolverDn.h>
#include <cusolverRf.h>
#include <cusolverSp.h>
#include <cusolverSp_LOWLEVEL_PREVIEW.h>

#include "shim/api/rows.h"
#include "shim/vendor/cusolver/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cusolverStatus_t> {
  static constexpr cusolverStatus_t kSuccess = CUSOLVER_STATUS_SUCCESS;
  static constexpr cusolverStatus_t kFailure = CUSOLVER_STATUS_INTERNAL_ERROR;
  static constexpr cusolverStatus_t kNotSupported = CUSOLVER_STATUS_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cusolver
#define SHIM_STATUS cusolverStatus_t
#include "shim/vendor/cusolver/cusolver.inc"
