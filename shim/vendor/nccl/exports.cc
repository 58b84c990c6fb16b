// Exports libnccl.so.2: every row of nccl.inc as a function. Decisions are in nccl.policy.
#include <nccl.h>

#include "shim/api/rows.h"
#include "shim/vendor/nccl/handlers.h"

namespace eidolon::shim::api {

template <>
struct Codes<ncclResult_t> {
  static constexpr ncclResult_t kSuccess = ncclSuccess;
  static constexpr ncclResult_t kFailure = ncclInternalError;
  static constexpr ncclResult_t kNotSupported = ncclInvalidUsage;
};

}  // namespace eidolon::shim::api

#define SHIM_HANDLERS ::eidolon::shim::nccl
#define SHIM_STATUS ncclResult_t
#include "shim/vendor/nccl/nccl.inc"
