#include "shim/vendor/cuda_driver/start.h"

#include "shim/core/session.h"
#include "shim/gpu/error_text.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::start {

using gpu::Status;

CUresult Init(unsigned flags) noexcept {
  return ToResult(flags != 0 ? Status::kInvalidValue : gpu::Initialize());
}

CUresult GetVersion(int* version) noexcept {
  if (version == nullptr) return ToResult(Status::kInvalidValue);
  const core::Session* session = core::Session::Get();
  *version = session == nullptr ? 0 : static_cast<int>(session->header().driver_version);
  return CUDA_SUCCESS;
}

CUresult GetErrorName(CUresult error, const char** text) noexcept {
  if (text == nullptr) return ToResult(Status::kInvalidValue);
  const gpu::ErrorText* found = gpu::FindErrorText(static_cast<std::uint32_t>(error));
  *text = found == nullptr ? nullptr : found->driver_name;
  return ToResult(*text == nullptr ? Status::kInvalidValue : Status::kSuccess);
}

CUresult GetErrorString(CUresult error, const char** text) noexcept {
  if (text == nullptr) return ToResult(Status::kInvalidValue);
  const gpu::ErrorText* found = gpu::FindErrorText(static_cast<std::uint32_t>(error));
  const bool known = found != nullptr && found->driver_name != nullptr;
  *text = known ? found->text : nullptr;
  return ToResult(known ? Status::kSuccess : Status::kInvalidValue);
}

}  // namespace eidolon::shim::cuda_driver::start
