// Answers for a build without stream capture: nothing ever captures. Goes when capture.cc comes.
#include "shim/gpu/capture_hooks.h"

namespace eidolon::shim::gpu {

Status CaptureWork(Stream&, std::span<const std::byte>) noexcept {
  return Status::kCaptureUnsupported;
}
Status CaptureCommunication(Stream&, std::uint32_t, std::uint32_t,
                            std::span<const ring::CommunicationOp>,
                            std::span<const std::byte>) noexcept {
  return Status::kCaptureUnsupported;
}
Status CaptureEventRecord(Stream&, Event&, std::uint32_t) noexcept {
  return Status::kCaptureUnsupported;
}
Status CaptureCallback(Stream&, HostFunction, void*) noexcept {
  return Status::kCaptureUnsupported;
}
Status CaptureWaitEvent(Stream&, Event&, std::uint32_t) noexcept {
  return Status::kCaptureUnsupported;
}
void CaptureForgetStream(Stream&) noexcept {}
void CaptureForgetEvent(Event&) noexcept {}
Status CaptureViolation(Stream&, Status code) noexcept { return code; }
Status CheckUnsafeCall() noexcept { return Status::kSuccess; }
Status CheckLegacyStreamUse(Stream&) noexcept { return Status::kSuccess; }

}  // namespace eidolon::shim::gpu
