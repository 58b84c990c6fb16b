// The runtime's codes for rows. Included by exports.cc files only.
#pragma once

#include <cuda_runtime_api.h>

#include "shim/api/rows.h"

namespace eidolon::shim::api {

template <>
struct Codes<cudaError_t> {
  static constexpr cudaError_t kSuccess = cudaSuccess;
  static constexpr cudaError_t kFailure = cudaErrorUnknown;
  static constexpr cudaError_t kNotSupported = cudaErrorNotSupported;
};

}  // namespace eidolon::shim::api
