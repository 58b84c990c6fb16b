// Hooks by which stream, event, copy and allocation code takes part in stream capture. Implemented
// in capture.cc; called with streams that are capturing unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "services/contract/ring/record.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

struct Event;
struct Graph;
struct Kernel;
struct LaunchParameters;
struct LaunchShape;
struct Stream;

using HostFunction = void (*)(void*);

// A kernel launch.
Status CaptureKernel(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
                     const LaunchParameters& parameters) noexcept;
// Work, communication, event operations and callbacks on a capturing stream become graph nodes.
Status CaptureWork(Stream& stream, std::span<const std::byte> definition) noexcept;
Status CaptureCommunication(Stream& stream, std::uint32_t communicator, std::uint32_t group,
                            std::span<const ring::CommunicationOp> ops,
                            std::span<const std::byte> payload) noexcept;
Status CaptureEventRecord(Stream& stream, Event& event, std::uint32_t flags) noexcept;
Status CaptureCallback(Stream& stream, HostFunction function, void* data) noexcept;
Status CaptureChildGraph(Stream& stream, const Graph& graph) noexcept;
// An allocation or free in stream order: the address is reserved already and is given back with the
// graph by its owner.
Status CaptureMemory(Stream& stream, bool allocates, std::uint64_t address,
                     std::uint64_t bytes) noexcept;
// Registers how the node captured last on the stream changes known values: called at every replay,
// after what was registered for the node before.
void CaptureReplay(Stream& stream, std::function<void()> on_replay) noexcept;

// A wait on an event. Requires: the stream captures, or the event's last record was captured (the
// stream then joins that capture).
Status CaptureWaitEvent(Stream& stream, Event& event, std::uint32_t flags) noexcept;

// The stream or event is being destroyed while it takes part in a capture.
void CaptureForgetStream(Stream& stream) noexcept;
void CaptureForgetEvent(Event& event) noexcept;

// A call that cannot be captured. On a capturing stream (or an event recorded in one) the capture
// becomes invalid and `code` is the answer.
Status CaptureViolation(Stream& stream, Status code) noexcept;

// A call that is unsafe while any capture of global mode (or of this thread's thread-local mode)
// runs: cudaMalloc and the like. kSuccess, or kCaptureUnsupported after invalidating that capture.
Status CheckUnsafeCall() noexcept;

// Legacy-stream use while a blocking stream of the context captures: kCaptureImplicit, else
// kSuccess.
Status CheckLegacyStreamUse(Stream& stream) noexcept;

}  // namespace eidolon::shim::gpu
