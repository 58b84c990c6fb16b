// Defines how strict a stream capture is about unsafe calls, and the states of a capture.
#pragma once

#include <cstdint>

namespace eidolon::shim::gpu {

// Values equal CUstreamCaptureMode and CUstreamCaptureStatus.
enum class CaptureMode : std::uint32_t { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };
enum class CaptureStatus : std::uint32_t { kNone = 0, kActive = 1, kInvalidated = 2 };

}  // namespace eidolon::shim::gpu
