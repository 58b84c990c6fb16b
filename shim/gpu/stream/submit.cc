#include "shim/gpu/stream/submit.h"

#include <array>

#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/submit_from.h"

namespace eidolon::shim::gpu {

Status Submit(StreamHandle handle, std::span<const std::byte> definition) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) {
    return DeviceCount() == 0 ? Status::kNoDevice : Status::kInvalidHandle;
  }
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureWork(*stream, definition);
  }
  if (stream->legacy) {
    if (const Status status = CheckLegacyStreamUse(*stream); status != Status::kSuccess) {
      return status;
    }
  }
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  ring::LaunchRecord record{};
  record.work = session->InternWork(definition);
  if (record.work == 0) return Status::kNotSupported;
  record.header.kind = ring::RecordKind::kLaunch;
  record.header.device = RingDevice(stream->device);
  record.stream = stream->id;
  stream->issued.fetch_add(1, std::memory_order_relaxed);
  session->Append(&record.header, sizeof(record));
  return session->agent_alive() ? Status::kSuccess : Status::kUnknown;
}

Status SubmitCommunication(StreamHandle handle, std::uint32_t communicator, std::uint32_t group,
                           std::span<const ring::CommunicationOp> ops,
                           std::span<const std::byte> payload) noexcept {
  return SubmitCommunicationFrom({}, handle, communicator, group, ops, payload);
}

Status SubmitCommunicationFrom(std::string_view site, StreamHandle handle,
                               std::uint32_t communicator, std::uint32_t group,
                               std::span<const ring::CommunicationOp> ops,
                               std::span<const std::byte> payload) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureCommunication(*stream, communicator, group, ops, payload);
  }
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return Status::kDeinitialized;
  ring::CommunicationRecord record{};
  const std::size_t bytes = sizeof(record) + ops.size_bytes() + payload.size();
  if (bytes > ring::kMaxRecordBytes) return Status::kNotSupported;
  if (bytes + site.size() > ring::kMaxRecordBytes) site = {};
  record.header.kind = ring::RecordKind::kCommunication;
  record.header.device = RingDevice(stream->device);
  record.stream = stream->id;
  record.communicator = communicator;
  record.op_count = static_cast<std::uint32_t>(ops.size());
  record.payload_bytes = static_cast<std::uint32_t>(payload.size());
  record.group = group;
  stream->issued.fetch_add(1, std::memory_order_relaxed);
  const std::array<std::span<const std::byte>, 3> tail = {std::as_bytes(ops), payload,
                                                          std::as_bytes(std::span(site))};
  session->Append(&record.header, sizeof(record), tail);
  return session->agent_alive() ? Status::kSuccess : Status::kUnknown;
}

}  // namespace eidolon::shim::gpu
