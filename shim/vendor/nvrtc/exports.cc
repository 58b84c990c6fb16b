// Exports libnvrtc.so.13: every row of nvrtc.inc as a function. Decisions are in nvrtc.policy.
#include <nvrtc.h>

#include "shim/api/real_library.h"
#include "shim/api/rows.h"

namespace eidolon::shim::api {

template <>
struct Codes<nvrtcResult> {
  static constexpr nvrtcResult kSuccess = NVRTC_SUCCESS;
  static constexpr nvrtcResult kFailure = NVRTC_ERROR_INTERNAL_ERROR;
  static constexpr nvrtcResult kNotSupported = NVRTC_ERROR_INTERNAL_ERROR;
};

}  // namespace eidolon::shim::api

namespace eidolon::shim::nvrtc {
namespace {

constinit api::RealLibrary real("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc-builtins.so.");

}  // namespace
}  // namespace eidolon::shim::nvrtc

#define SHIM_REAL ::eidolon::shim::nvrtc::real
#define SHIM_STATUS nvrtcResult
#include "shim/vendor/nvrtc/nvrtc.inc"
