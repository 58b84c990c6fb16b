// Streams of the emulated GPUs. A handle (cudaStream_t, CUstream) is the address of a Stream, or
// one of the special values below. Destroyed streams are recycled, never unmapped, so that a stale
// handle is refused instead of crashing.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"
#include "shim/value/finished_reads.h"

namespace eidolon::shim::gpu {

class Capture;  // A capture in progress; capture.h.
struct Context;

// Priorities go from 0 (least) to this (greatest), as on current GPUs.
inline constexpr int kGreatestPriority = -5;

// The special handles: null and 1 are the legacy default stream, 2 the calling thread's default
// stream.
inline const StreamHandle kLegacyStream = reinterpret_cast<StreamHandle>(std::uintptr_t{1});
inline const StreamHandle kPerThreadStream = reinterpret_cast<StreamHandle>(std::uintptr_t{2});

// Fields above `capture` are fixed while the stream lives.
struct Stream {
  static constexpr std::uint32_t kMagic = 0x45535452;

  std::uint32_t magic = 0;  // kMagic while alive.
  int device = 0;
  std::uint32_t id = 0;     // Ring identifier; 0: the device's legacy default stream.
  std::uint32_t flags = 0;  // CU_STREAM_NON_BLOCKING is 1.
  int priority = 0;
  bool legacy = false;  // The device's legacy default stream.
  bool per_thread = false;
  Context* context = nullptr;
  std::uint64_t unique_id = 0;             // cuStreamGetId.
  std::atomic<Capture*> capture{nullptr};  // Not null while the stream is capturing.
  std::atomic<std::uint64_t> issued{0};    // Operations issued so far; orders host callbacks.

  bool non_blocking() const { return (flags & 1u) != 0; }
  value::StreamName name() const { return {.device = device, .id = id}; }
};

// The stream a handle means on the calling thread; nullptr when it is none.
Stream* Lookup(StreamHandle handle) noexcept;

// Device of a stream; of the calling thread's current context for a handle that is none.
int DeviceOf(StreamHandle handle) noexcept;

// True while the stream is being captured: values are then not touched (replay does not recompute
// them).
bool IsCapturing(StreamHandle handle) noexcept;

// A new stream of the current context. Requires: nothing; a priority outside the range is clamped.
Status CreateStream(std::uint32_t flags, int priority, StreamHandle* result) noexcept;
Status DestroyStream(StreamHandle handle) noexcept;

// While one lives, null means the calling thread's default stream: for the _ptds and _ptsz entry
// points.
class PerThreadDefault {
 public:
  PerThreadDefault() noexcept;
  ~PerThreadDefault();
  PerThreadDefault(const PerThreadDefault&) = delete;
  PerThreadDefault& operator=(const PerThreadDefault&) = delete;
};

}  // namespace eidolon::shim::gpu
