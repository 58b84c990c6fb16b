// Which way memory moves decides the time, and so does whether the host's pages are locked.
// Pageable memory is written once before it is timed, or the first copy would wait for the system
// to give out pages. The identity does not tell how far rows lie apart, so they get a gap that
// keeps them from being one long piece. Copies with pageable memory may return late and cannot be
// captured; `waits` says which, as the stopwatch takes other overheads off.
#include "services/timing/replay/copy_replay.h"

#include <algorithm>

#include "services/base/sim_time.h"
#include "services/contract/workload/copy_kind.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using workload::CopyKind;

namespace {

// Between rows, so that they are not one: the identity does not tell how far they lie apart.
constexpr std::uint64_t kRowGapMax = 512;
// Host memory is taken from everybody on the machine.
constexpr std::uint64_t kHostBytesMax = std::uint64_t{2} << 30;
// Up to this size a copy from pageable memory comes back at once.
constexpr std::uint64_t kStagedBytes = 64 << 10;

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
  if (copy.row_bytes == 0 || copy.row_bytes > copy.bytes || copy.bytes % copy.row_bytes != 0) {
    return "a copy by rows that do not add up is not replayed";
  }
  if (IsWithHost(copy.kind) && copy.bytes > kHostBytesMax) {
    return "a copy with the host of more than 2 GiB is not replayed";
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
  call->rows_ = copy.bytes / copy.row_bytes;
  call->pitch_ =
      call->rows_ == 1 ? copy.row_bytes : copy.row_bytes + std::min(copy.row_bytes, kRowGapMax);
  if (auto made = call->Allocate(); !made) return std::unexpected(made.error());
  return call;
}

Result<void> CopyCall::Allocate() {
  base::Wide bytes = base::Wide{pitch_} * rows_;
  if (bytes > (base::Wide{1} << 46)) {
    return base::Fail(ErrorCode::kResourceExhausted, "a copy is larger than any memory");
  }
  const auto size = static_cast<std::uint64_t>(bytes);
  CUresult result = driver_.cuMemAlloc_v2(&to_, size);
  if (result == CUDA_SUCCESS && copy_.kind == CopyKind::kDeviceToDevice) {
    result = driver_.cuMemAlloc_v2(&from_, size);
  }
  if (result == CUDA_SUCCESS && IsWithHost(copy_.kind)) {
    if (copy_.pinned) {
      result = driver_.cuMemHostAlloc(&host_, size, 0);
    } else {
      pageable_.assign(size, 0x5a);  // Its pages are there.
    }
  }
  return driver_.Check(result, "allocating memory");
}

CopyCall::~CopyCall() {
  if (to_ != 0) driver_.cuMemFree_v2(to_);
  if (from_ != 0) driver_.cuMemFree_v2(from_);
  if (host_ != nullptr) driver_.cuMemFreeHost(host_);
}

bool CopyCall::waits() const {
  return pageable() && (copy_.kind == CopyKind::kDeviceToHost || copy_.bytes > kStagedBytes);
}

Result<void> CopyCall::Enqueue(CUstream stream) {
  return driver_.Check(rows_ == 1 ? EnqueueFlat(stream) : EnqueueRows(stream), "copying");
}

CUresult CopyCall::EnqueueFlat(CUstream stream) {
  void* host = copy_.pinned ? host_ : pageable_.data();
  switch (copy_.kind) {
    case CopyKind::kHostToDevice:
      return driver_.cuMemcpyHtoDAsync_v2(to_, host, copy_.bytes, stream);
    case CopyKind::kDeviceToHost:
      return driver_.cuMemcpyDtoHAsync_v2(host, to_, copy_.bytes, stream);
    case CopyKind::kDeviceToDevice:
      return driver_.cuMemcpyDtoDAsync_v2(to_, from_, copy_.bytes, stream);
    default:
      return driver_.cuMemsetD8Async(to_, 0, copy_.bytes, stream);
  }
}

CUresult CopyCall::EnqueueRows(CUstream stream) {
  if (copy_.kind == CopyKind::kMemset) {
    return driver_.cuMemsetD2D8Async(to_, pitch_, 0, copy_.row_bytes, rows_, stream);
  }
  const bool from_host = copy_.kind == CopyKind::kHostToDevice;
  const bool to_host = copy_.kind == CopyKind::kDeviceToHost;
  void* host = copy_.pinned ? host_ : pageable_.data();
  CUDA_MEMCPY2D call{};
  call.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  call.srcHost = from_host ? host : nullptr;
  call.srcDevice = to_host ? to_ : from_;
  call.srcPitch = pitch_;
  call.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  call.dstHost = to_host ? host : nullptr;
  call.dstDevice = to_;
  call.dstPitch = pitch_;
  call.WidthInBytes = copy_.row_bytes;
  call.Height = rows_;
  return driver_.cuMemcpy2DAsync_v2(&call, stream);
}

}  // namespace eidolon::timing::replay
