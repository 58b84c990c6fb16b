#include "shim/gpu/stream/stream_wait.h"

#include "services/contract/ring/record.h"
#include "shim/core/resource_observer.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/waiting.h"

namespace eidolon::shim::gpu {

Status SynchronizeStream(StreamHandle handle) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureViolation(*stream, Status::kCaptureUnsupported);
  }
  if (stream->legacy) {
    if (const Status status = CheckLegacyStreamUse(*stream); status != Status::kSuccess) {
      return status;
    }
  }
  const Status status = WaitFor(ring::RecordKind::kSynchronizeStream, stream->device, stream->id,
                                {.stream = stream->name()});
  // The default streams keep the special value that the program gave.
  if (status == Status::kSuccess) core::TellOfStreamWait(stream->context, handle);
  return status;
}

Status QueryStream(StreamHandle handle) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureViolation(*stream, Status::kCaptureUnsupported);
  }
  return Query(ring::RecordKind::kQueryStream, stream->device, stream->id,
               {.stream = stream->name()});
}

Status SynchronizeDevice() noexcept {
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  if (const Status status = CheckUnsafeCall(); status != Status::kSuccess) return status;
  const Status status = WaitForDevice(CurrentDevice());
  if (status == Status::kSuccess) core::TellOfContextWait(CurrentContext());
  return status;
}

}  // namespace eidolon::shim::gpu
