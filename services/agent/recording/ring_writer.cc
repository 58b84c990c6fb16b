#include "services/agent/recording/ring_writer.h"

#include <algorithm>
#include <cstring>

#include "services/base/check.h"
#include "services/contract/ring/check.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::agent::recording {

namespace wire = ::eidolon::ring;

// A record never wraps: a pad fills the rest.
std::size_t RingWriter::PadBefore(std::size_t bytes) const {
  const std::size_t contiguous = wire::kRingBytes - position_ % wire::kRingBytes;
  return bytes > contiguous ? contiguous : 0;
}

bool RingWriter::HasRoom(std::size_t bytes) const {
  const std::uint64_t read =
      wire::CursorsOf(segment_)->read_position.value.load(std::memory_order_acquire);
  return position_ + PadBefore(bytes) + bytes - read <= wire::kRingBytes;
}

bool RingWriter::IsDrained() const {
  return wire::CursorsOf(segment_)->read_position.value.load(std::memory_order_acquire) ==
         position_;
}

void RingWriter::Put(std::span<const std::byte> bytes) {
  std::memcpy(wire::RingOf(segment_) + position_ % wire::kRingBytes, bytes.data(), bytes.size());
}

void RingWriter::Append(std::span<const std::byte> record, std::uint64_t clock_ps) {
  CHECK(record.size() >= sizeof(wire::RecordHeader) && record.size() % 8 == 0);
  if (const std::size_t pad = PadBefore(record.size()); pad > 0) {
    const wire::RecordHeader header{.bytes = static_cast<std::uint32_t>(pad),
                                    .kind = wire::RecordKind::kPad,
                                    .device = 0,
                                    .host_clock_ps = 0,
                                    .check = 0};
    Put(std::as_bytes(std::span(&header, 1)).first(std::min(pad, sizeof(header))));
    position_ += pad;
  }
  copy_.resize(record.size() / 8);
  std::memcpy(copy_.data(), record.data(), record.size());
  auto* header = reinterpret_cast<wire::RecordHeader*>(copy_.data());
  header->host_clock_ps = clock_ps;
  header->check = wire::RecordCheck(position_, copy_.data(), record.size());
  Put(std::as_bytes(std::span(copy_)));
  position_ += record.size();
  wire::CursorsOf(segment_)->write_position.value.store(position_, std::memory_order_release);
  SetClock(clock_ps);
}

void RingWriter::SetClock(std::uint64_t clock_ps) {
  wire::CursorsOf(segment_)->clock_ps.value.store(clock_ps, std::memory_order_release);
}

void RingWriter::Pend(std::uint32_t slot) {
  wire::RepliesOf(segment_)[slot].state.store(static_cast<std::uint32_t>(wire::SlotState::kPending),
                                              std::memory_order_release);
}

std::optional<RingWriter::Answer> RingWriter::FindAnswer(std::uint32_t slot) const {
  const wire::ReplySlot& reply = wire::RepliesOf(segment_)[slot];
  if (reply.state.load(std::memory_order_acquire) !=
      static_cast<std::uint32_t>(wire::SlotState::kReady)) {
    return std::nullopt;
  }
  return Answer{.ok = reply.status == wire::ReplyStatus::kOk, .value_ps = reply.value_ps};
}

void RingWriter::SayFarewell(wire::Farewell farewell) {
  wire::CursorsOf(segment_)->farewell.store(static_cast<std::uint32_t>(farewell),
                                            std::memory_order_release);
}

}  // namespace eidolon::agent::recording
