#include "shim/vendor/cuda_runtime/error.h"

#include "shim/gpu/error_text.h"

namespace eidolon::shim::cuda_runtime::error {

const char* GetName(cudaError_t code) noexcept {
  const gpu::ErrorText* found = gpu::FindErrorText(static_cast<std::uint32_t>(code));
  return found != nullptr && found->runtime_name != nullptr ? found->runtime_name
                                                            : "unrecognized error code";
}

const char* GetString(cudaError_t code) noexcept {
  const gpu::ErrorText* found = gpu::FindErrorText(static_cast<std::uint32_t>(code));
  return found != nullptr && found->runtime_name != nullptr ? found->text
                                                            : "unrecognized error code";
}

}  // namespace eidolon::shim::cuda_runtime::error
