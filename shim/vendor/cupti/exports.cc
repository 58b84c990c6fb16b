// Exports libcupti.so.13: every row of cupti.inc as a function. Decisions are in cupti.policy.
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include "shim/api/rows.h"
#include "shim/vendor/cupti/handlers.h"
#include "shim/vendor/cupti/supplement.h"

namespace eidolon::shim::api {

template <>
struct Codes<CUptiResult> {
  static constexpr CUptiResult kSuccess = CUPTI_SUCCESS;
  static constexpr CUptiResult kFailure = CUPTI_ERROR_UNKNOWN;
  static constexpr CUptiResult kNotSupported = CUPTI_ERROR_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cupti
#define SHIM_STATUS CUptiResult
#include "shim/vendor/cupti/cupti.inc"
