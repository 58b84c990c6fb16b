// Exports libcufft.so.12: every row of cufft.inc as a function. Decisions are in cufft.policy.
#include <cufftXt.h>

#include "shim/api/rows.h"
#include "shim/vendor/cufft/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cufftResult> {
  static constexpr cufftResult kSuccess = CUFFT_SUCCESS;
  static constexpr cufftResult kFailure = CUFFT_INTERNAL_ERROR;
  static constexpr cufftResult kNotSupported = CUFFT_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cufft
#define SHIM_STATUS cufftResult
#include "shim/vendor/cufft/cufft.inc"
