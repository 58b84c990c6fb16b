// The engine has the times of events; here an event is a number, with three facts that the engine
// does not know: whether it was recorded at all, whether the last record belongs to a capture, and
// which reads into host memory precede it. The last is how a wait for an event brings those bytes
// into place. `recorded` is stored last, after what belongs to the record. Waiting for an event
// that was never recorded succeeds at once, as in CUDA. Time differences are the engine's
// picoseconds, turned into CUDA's milliseconds of single precision.
#include "shim/gpu/stream/event.h"

#include "services/contract/ring/record.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/waiting.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint32_t kKnownFlags =
    Event::kBlockingSync | Event::kDisableTiming | Event::kInterprocess;

HandlePool<Event>& AllEvents() {
  static HandlePool<Event>* const events = new HandlePool<Event>;  // Threads may outlive main.
  return *events;
}

ring::EventRecord Record(ring::RecordKind kind, const Event& event, int device,
                         std::uint32_t stream) {
  ring::EventRecord record{};
  record.header.kind = kind;
  record.header.device = RingDevice(device);
  record.stream = stream;
  record.event = event.id;
  return record;
}

}  // namespace

Event* LookupEvent(EventHandle handle) noexcept { return FromHandle<Event>(handle); }

Status CreateEvent(std::uint32_t flags, EventHandle* result) noexcept {
  if (result == nullptr || (flags & ~kKnownFlags) != 0) return Status::kInvalidValue;
  // Events shared between processes must not carry times.
  if ((flags & Event::kInterprocess) != 0 && (flags & Event::kDisableTiming) == 0) {
    return Status::kInvalidValue;
  }
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  Event* event = AllEvents().Take();
  event->device = CurrentDevice();
  event->id = session->NewId();
  event->flags = flags;
  event->recorded.store(false);
  event->capture.store(nullptr);
  event->capture_node = 0;
  core::Append(*session, Record(ring::RecordKind::kEventCreate, *event, event->device, 0));
  event->magic = Event::kMagic;
  *result = event;
  return Status::kSuccess;
}

Status DestroyEvent(EventHandle handle) noexcept {
  Event* event = LookupEvent(handle);
  if (event == nullptr) return Status::kInvalidHandle;
  if (event->capture.load() != nullptr) CaptureForgetEvent(*event);
  if (core::Session* session = core::Session::Existing()) {
    core::Append(*session, Record(ring::RecordKind::kEventDestroy, *event, event->device, 0));
  }
  AllEvents().GiveBack(event);
  return Status::kSuccess;
}

Status RecordEvent(EventHandle handle, StreamHandle where, std::uint32_t flags) noexcept {
  Event* event = LookupEvent(handle);
  Stream* stream = Lookup(where);
  if (event == nullptr || stream == nullptr || flags > 1) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureEventRecord(*stream, *event, flags);
  }
  if (event->device != stream->device) return Status::kInvalidHandle;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  if (event->capture.load() != nullptr) {
    CaptureForgetEvent(*event);
    event->capture.store(nullptr);
  }
  stream->issued.fetch_add(1, std::memory_order_relaxed);
  core::Append(*session,
               Record(ring::RecordKind::kEventRecord, *event, stream->device, stream->id));
  event->stream.store(stream->id);
  event->reads_before.store(value::ProcessPending().reads_so_far());
  event->recorded.store(true, std::memory_order_release);
  return Status::kSuccess;
}

Status WaitEvent(StreamHandle where, EventHandle handle, std::uint32_t flags) noexcept {
  Event* event = LookupEvent(handle);
  Stream* stream = Lookup(where);
  if (event == nullptr || stream == nullptr || flags > 1) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr ||
      event->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureWaitEvent(*stream, *event, flags);
  }
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  // Waiting for an event that was never recorded does nothing.
  if (!event->recorded.load(std::memory_order_acquire)) return Status::kSuccess;
  stream->issued.fetch_add(1, std::memory_order_relaxed);
  core::Append(*session,
               Record(ring::RecordKind::kStreamWaitEvent, *event, stream->device, stream->id));
  value::ProcessPending().Follow(stream->name(), event->finished());
  return Status::kSuccess;
}

Status SynchronizeEvent(EventHandle handle) noexcept {
  Event* event = LookupEvent(handle);
  if (event == nullptr) return Status::kInvalidHandle;
  if (event->capture.load() != nullptr) return Status::kCapturedEvent;
  if (const Status status = CheckUnsafeCall(); status != Status::kSuccess) return status;
  if (!event->recorded.load(std::memory_order_acquire)) return Status::kSuccess;
  return WaitFor(ring::RecordKind::kSynchronizeEvent, event->device, event->id, event->finished());
}

Status QueryEvent(EventHandle handle) noexcept {
  Event* event = LookupEvent(handle);
  if (event == nullptr) return Status::kInvalidHandle;
  if (event->capture.load() != nullptr) return Status::kCapturedEvent;
  if (const Status status = CheckUnsafeCall(); status != Status::kSuccess) return status;
  if (!event->recorded.load(std::memory_order_acquire)) return Status::kSuccess;
  return Query(ring::RecordKind::kQueryEvent, event->device, event->id, event->finished());
}

Status ElapsedTime(float* milliseconds, EventHandle start, EventHandle end) noexcept {
  const Event* first = LookupEvent(start);
  const Event* last = LookupEvent(end);
  if (milliseconds == nullptr) return Status::kInvalidValue;
  if (first == nullptr || last == nullptr) return Status::kInvalidHandle;
  if (((first->flags | last->flags) & Event::kDisableTiming) != 0) return Status::kInvalidHandle;
  if (!first->recorded.load() || !last->recorded.load()) return Status::kInvalidHandle;
  if (first->device != last->device) return Status::kInvalidHandle;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  ring::WaitRecord record{};
  record.header.kind = ring::RecordKind::kElapsedTime;
  record.header.device = RingDevice(first->device);
  record.id = first->id;
  record.id2 = last->id;
  const core::Session::Answer answer = core::Ask(*session, record, false);
  if (answer.status != ring::ReplyStatus::kOk) return StatusOf(answer.status);
  const auto ps = static_cast<std::int64_t>(answer.value_ps);
  *milliseconds = static_cast<float>(static_cast<double>(ps) * 1e-9);
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
