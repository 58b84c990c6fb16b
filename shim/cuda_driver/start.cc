#include "shim/cuda_driver/start.h"

#include <array>
#include <cstring>

#include "shim/core/enter.h"
#include "shim/core/session.h"
#include "shim/cuda_driver/result.h"
#include "shim/gpu/error_text.h"

namespace eidolon::shim::cuda_driver::start {
namespace {

using gpu::Status;

// NVRTC asks for it before it compiles anything, and goes on without.
constexpr std::array<unsigned char, 16> kAskedByCompiler = {
    0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28};

}  // namespace

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

CUresult GetExportTable(const void** table, const CUuuid* id) noexcept {
  if (table == nullptr || id == nullptr) return ToResult(Status::kInvalidValue);
  *table = nullptr;
  if (std::memcmp(id->bytes, kAskedByCompiler.data(), kAskedByCompiler.size()) == 0) {
    return CUDA_ERROR_NOT_FOUND;
  }
  return core::Rejected("cuGetExportTable", CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace eidolon::shim::cuda_driver::start
