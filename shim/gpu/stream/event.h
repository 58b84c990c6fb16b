// Events of the emulated GPUs. A handle (cudaEvent_t, CUevent) is the address of an Event.
// Destroyed events are recycled, never unmapped.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/gpu/status.h"
#include "shim/gpu/stream_handle.h"
#include "shim/value/finished_reads.h"

namespace eidolon::shim::gpu {

class Capture;

using EventHandle = void*;

struct Event {
  static constexpr std::uint32_t kMagic = 0x45455654;
  static constexpr std::uint32_t kBlockingSync = 1;
  static constexpr std::uint32_t kDisableTiming = 2;
  static constexpr std::uint32_t kInterprocess = 4;

  std::uint32_t magic = 0;  // kMagic while alive.
  int device = 0;
  std::uint32_t id = 0;  // Ring identifier.
  std::uint32_t flags = 0;
  std::atomic<bool> recorded{false};
  // The last record happened in this capture (captured events cannot be waited for on the host);
  // reset by the next record outside a capture. `capture_node` is the capture's own mark for that
  // record.
  std::atomic<Capture*> capture{nullptr};
  std::uint64_t capture_node = 0;
  // Reads into host memory that end before the last record's moment.
  std::atomic<std::uint32_t> stream{0};  // Ring identifier, of the event's device.
  std::atomic<std::uint64_t> reads_before{0};

  value::FinishedReads finished() const {
    return {.stream = {.device = device, .id = stream.load()}, .first = reads_before.load()};
  }
};

// The event of a handle; nullptr when it is none.
Event* LookupEvent(EventHandle handle) noexcept;

Status CreateEvent(std::uint32_t flags, EventHandle* result) noexcept;
Status DestroyEvent(EventHandle handle) noexcept;
// `flags` 1 is external: in a capture an event-record node is made.
Status RecordEvent(EventHandle event, StreamHandle stream, std::uint32_t flags) noexcept;
Status WaitEvent(StreamHandle stream, EventHandle event, std::uint32_t flags) noexcept;
Status SynchronizeEvent(EventHandle event) noexcept;
Status QueryEvent(EventHandle event) noexcept;
Status ElapsedTime(float* milliseconds, EventHandle start, EventHandle end) noexcept;

}  // namespace eidolon::shim::gpu
