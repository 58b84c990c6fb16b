// Exports libnvidia-ml.so.1: every row of nvml.inc as a function. Decisions are in nvml.policy.
#define NVML_NO_UNVERSIONED_FUNC_DEFS  // Old versions of functions under their own names.
#include <nvml.h>

#include "shim/api/rows.h"
#include "shim/vendor/nvml/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<nvmlReturn_t> {
  static constexpr nvmlReturn_t kSuccess = NVML_SUCCESS;
  static constexpr nvmlReturn_t kFailure = NVML_ERROR_UNKNOWN;
  static constexpr nvmlReturn_t kNotSupported = NVML_ERROR_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::nvml
#define SHIM_STATUS nvmlReturn_t
#include "shim/vendor/nvml/nvml.inc"
