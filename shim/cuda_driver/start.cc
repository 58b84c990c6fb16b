#include "shim/cuda_driver/start.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "shim/core/enter.h"
#include "shim/core/session.h"
#include "shim/cuda_driver/result.h"
#include "shim/gpu/error_text.h"

namespace eidolon::shim::cuda_driver::start {
namespace {

using gpu::Status;

using TableId = std::array<unsigned char, 16>;

// NVRTC asks for the first before it compiles anything, a statically linked runtime for the second
// before anything else. Both go on without.
constexpr std::array<TableId, 2> kDoneWithout = {
    {{0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3,
      0x28},
     {0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d,
      0xd9}}};

// What the static runtime of CUDA 13.2 asks for next, and which entries it calls; without any of
// these tables it makes no context. Seen when each was answered in turn:
//   6bd5fb6c...  entry 2: the primary context of a device, (CUcontext*, CUdevice)
//   a094798c...  entry 2: words for tools' hooks, (void** words, size_t* count)
//   42d85a81...  none
//   c693336e...  none
//   263e8860...  entry 3, which may succeed and do nothing
//   d4082055...  entry 1, three times: a check of the driver. When its outputs are not what the
//                runtime expects, every call fails with "integrity checks failed".
// The last one is not answered, so that none of the others would help: the first is refused.
constexpr TableId kStaticRuntime = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                    0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};
constexpr const char* kStaticRuntimeRefusal =
    "cuGetExportTable (of a statically linked CUDA runtime, which checks that the driver is "
    "NVIDIA's; link it with nvcc -cudart shared)";

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
  TableId asked;
  std::memcpy(asked.data(), id->bytes, asked.size());
  if (std::ranges::find(kDoneWithout, asked) != kDoneWithout.end()) return CUDA_ERROR_NOT_FOUND;
  return core::Rejected(asked == kStaticRuntime ? kStaticRuntimeRefusal : "cuGetExportTable",
                        CUDA_ERROR_NOT_SUPPORTED);
}

}  // namespace eidolon::shim::cuda_driver::start
