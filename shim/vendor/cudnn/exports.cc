// Exports libcudnn.so.9: every row of cudnn.inc as a function. Decisions are in cudnn.policy.
#include <cudnn.h>

#include "shim/api/rows.h"
#include "shim/vendor/cudnn/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<cudnnStatus_t> {
  static constexpr cudnnStatus_t kSuccess = CUDNN_STATUS_SUCCESS;
  static constexpr cudnnStatus_t kFailure = CUDNN_STATUS_INTERNAL_ERROR;
  static constexpr cudnnStatus_t kNotSupported = CUDNN_STATUS_NOT_SUPPORTED;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::cudnn
#define SHIM_STATUS cudnnStatus_t
#include "shim/vendor/cudnn/cudnn.inc"
