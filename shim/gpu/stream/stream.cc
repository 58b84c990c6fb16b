// Default streams are made when they are first named: the legacy one of each device, which the
// engine knows as number 0, and one per thread and device. The entry points with _ptsz and _ptds
// differ from the others only in what null means, so a counter of the thread stands for that
// (PerThreadDefault) and every handler is written once. A stream's magic number is set last and
// cleared when it is destroyed; its memory is reused for streams only, so a stale handle is
// refused.
#include "shim/gpu/stream/stream.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "services/contract/ring/layout.h"
#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/stream/capture_hooks.h"

namespace eidolon::shim::gpu {
namespace {

struct Streams {
  std::array<Stream, ring::kMaxDevices> legacy;
  std::array<std::atomic<bool>, ring::kMaxDevices> legacy_made{};
  std::mutex making;  // Guards the making of legacy streams.
  HandlePool<Stream> pool;
  std::atomic<std::uint64_t> next_unique_id{1};
};

Streams& AllStreams() {
  static Streams* const streams = new Streams;  // Threads may outlive main.
  return *streams;
}

[[gnu::tls_model("initial-exec")]] constinit thread_local int per_thread_depth = 0;
[[gnu::tls_model(
    "initial-exec")]] constinit thread_local Stream* per_thread_streams[ring::kMaxDevices]{};

Stream* LegacyStream(int device) {
  Streams& all = AllStreams();
  const auto index = static_cast<std::size_t>(device);
  Stream& stream = all.legacy[index];
  if (all.legacy_made[index].load(std::memory_order_acquire)) return &stream;
  const std::lock_guard guard(all.making);
  if (!all.legacy_made[index].load(std::memory_order_acquire)) {
    stream.device = device;
    stream.legacy = true;
    stream.context = CurrentContext();
    stream.unique_id = all.next_unique_id.fetch_add(1);
    stream.magic = Stream::kMagic;
    all.legacy_made[index].store(true, std::memory_order_release);
  }
  return &stream;
}

// A new stream of the current device, told to the agent.
Stream* MakeStream(std::uint32_t flags, int priority) {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return nullptr;
  Stream* stream = AllStreams().pool.Take();
  stream->device = CurrentDevice();
  stream->id = session->NewId();
  stream->flags = flags;
  stream->priority = std::clamp(priority, kGreatestPriority, 0);
  stream->legacy = false;
  stream->per_thread = false;
  stream->context = CurrentContext();
  stream->unique_id = AllStreams().next_unique_id.fetch_add(1);
  stream->capture.store(nullptr);
  stream->issued.store(0);
  ring::StreamRecord record{};
  record.header.kind = ring::RecordKind::kStreamCreate;
  record.header.device = RingDevice(stream->device);
  record.stream = stream->id;
  record.non_blocking = stream->non_blocking() ? 1 : 0;
  record.priority = stream->priority;
  core::Append(*session, record);
  stream->magic = Stream::kMagic;
  return stream;
}

Stream* PerThreadStream(int device) {
  Stream*& stream = per_thread_streams[device];
  if (stream == nullptr) {
    stream = MakeStream(0, 0);
    if (stream != nullptr) stream->per_thread = true;
  }
  return stream;
}

}  // namespace

PerThreadDefault::PerThreadDefault() noexcept { ++per_thread_depth; }
PerThreadDefault::~PerThreadDefault() { --per_thread_depth; }

Stream* Lookup(StreamHandle handle) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number > 2) return FromHandle<Stream>(handle);
  if (CurrentContext() == nullptr && EnsureContext() != Status::kSuccess) return nullptr;
  const bool per_thread = number == 2 || (number == 0 && per_thread_depth > 0);
  return per_thread ? PerThreadStream(CurrentDevice()) : LegacyStream(CurrentDevice());
}

int DeviceOf(StreamHandle handle) noexcept {
  const Stream* stream = Lookup(handle);
  return stream == nullptr ? CurrentDevice() : stream->device;
}

bool IsCapturing(StreamHandle handle) noexcept {
  const Stream* stream = Lookup(handle);
  return stream != nullptr && stream->capture.load(std::memory_order_acquire) != nullptr;
}

Status CreateStream(std::uint32_t flags, int priority, StreamHandle* result) noexcept {
  if (result == nullptr || flags > 1) return Status::kInvalidValue;
  if (const Status status = EnsureContext(); status != Status::kSuccess) return status;
  Stream* stream = MakeStream(flags, priority);
  if (stream == nullptr) return Status::kDeinitialized;
  *result = stream;
  core::TellOfResource(
      {.event = core::ResourceEvent::kStreamCreated, .context = stream->context, .stream = stream});
  return Status::kSuccess;
}

Status DestroyStream(StreamHandle handle) noexcept {
  Stream* stream = FromHandle<Stream>(handle);
  if (stream == nullptr || stream->legacy || stream->per_thread) return Status::kInvalidHandle;
  core::TellOfResource({.event = core::ResourceEvent::kStreamDestroyStarting,
                        .context = stream->context,
                        .stream = stream});
  if (stream->capture.load() != nullptr) CaptureForgetStream(*stream);
  if (core::Session* session = core::Session::Existing()) {
    ring::StreamRecord record{};
    record.header.kind = ring::RecordKind::kStreamDestroy;
    record.header.device = RingDevice(stream->device);
    record.stream = stream->id;
    core::Append(*session, record);
  }
  AllStreams().pool.GiveBack(stream);
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
