#include "services/timing/replay/copy_replay.h"

#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using kernel::CopyKind;

namespace {

// Page-locked memory is taken from everybody on the machine.
constexpr std::uint64_t kHostBytesMax = std::uint64_t{4} << 30;

bool IsWithHost(CopyKind kind) {
  return kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToHost;
}

const char* RefusalOf(const kernel::Copy& copy) {
  switch (copy.kind) {
    case CopyKind::kUnspecified:
    case CopyKind::kPeer:
    case CopyKind::kHostToHost:
      return "copies of this kind are not replayed";
    default:
      break;
  }
  if (copy.bytes == 0) return "a copy of nothing is not replayed";
  if (copy.row_bytes != copy.bytes) return "copies by rows are not replayed";
  if (IsWithHost(copy.kind) && !copy.pinned) return "copies of pageable memory are not replayed";
  if (IsWithHost(copy.kind) && copy.bytes > kHostBytesMax) {
    return "a copy with the host of more than 4 GiB is not replayed";
  }
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<CopyCall>> CopyCall::Prepare(const Driver& driver,
                                                    const kernel::Copy& copy) {
  if (const char* refusal = RefusalOf(copy); refusal != nullptr) {
    return base::Fail(ErrorCode::kUnsupported, refusal);
  }
  std::unique_ptr<CopyCall> call(new CopyCall(driver, copy));
  CUresult result = driver.cuMemAlloc_v2(&call->to_, copy.bytes);
  if (result == CUDA_SUCCESS && copy.kind == CopyKind::kDeviceToDevice) {
    result = driver.cuMemAlloc_v2(&call->from_, copy.bytes);
  }
  if (result == CUDA_SUCCESS && IsWithHost(copy.kind)) {
    result = driver.cuMemHostAlloc(&call->host_, copy.bytes, 0);
  }
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "allocating memory").error());
  }
  return call;
}

CopyCall::~CopyCall() {
  if (to_ != 0) driver_.cuMemFree_v2(to_);
  if (from_ != 0) driver_.cuMemFree_v2(from_);
  if (host_ != nullptr) driver_.cuMemFreeHost(host_);
}

Result<void> CopyCall::Enqueue(CUstream stream) {
  CUresult result = CUDA_SUCCESS;
  switch (copy_.kind) {
    case CopyKind::kHostToDevice:
      result = driver_.cuMemcpyHtoDAsync_v2(to_, host_, copy_.bytes, stream);
      break;
    case CopyKind::kDeviceToHost:
      result = driver_.cuMemcpyDtoHAsync_v2(host_, to_, copy_.bytes, stream);
      break;
    case CopyKind::kDeviceToDevice:
      result = driver_.cuMemcpyDtoDAsync_v2(to_, from_, copy_.bytes, stream);
      break;
    default:
      result = driver_.cuMemsetD8Async(to_, 0, copy_.bytes, stream);
      break;
  }
  return driver_.Check(result, "copying");
}

}  // namespace eidolon::timing::replay
