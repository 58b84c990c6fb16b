// Names and sentences of the runtime's error codes.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::error {

const char* GetName(cudaError_t code) noexcept;
const char* GetString(cudaError_t code) noexcept;

}  // namespace eidolon::shim::cuda_runtime::error
