// Positions count bytes since the beginning and never wrap; the place in the ring is the position
// modulo its size. A record lies in one piece, so one that does not fit before the end is preceded
// by a pad. The check of a record covers its position too, so old bytes of a former round are not
// taken for a new record. The release store of the write position publishes everything before it.
//
// Two flags avoid system calls: `writer_waits` and `agent_sleeps`. Each side stores its own word
// and then loads the other's, all sequentially consistent, so of a writer that goes to sleep and a
// reader that frees space at least one sees the other. Records alone wake the agent only when a
// quarter of the ring is unread; questions, damage and a full ring wake it at once.
#include "shim/core/ring_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>

#include "services/base/check.h"
#include "services/contract/ring/check.h"
#include "shim/core/damage.h"
#include "shim/core/life_line.h"
#include "shim/core/rank_clock.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constexpr std::int64_t kLookAfterNs =
    50'000'000;  // How often a blocked writer looks for the agent.
constexpr std::uint64_t kQuarter = ring::kRingBytes / 4;
constexpr std::uint64_t kRingAgainBytes = ring::kRingBytes / 32;

std::size_t RoundUp8(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

// The futex word of read_position: its low half.
const std::atomic<std::uint32_t>* LowWord(const std::atomic<std::uint64_t>& value) {
  static_assert(std::endian::native == std::endian::little);
  return reinterpret_cast<const std::atomic<std::uint32_t>*>(&value);
}

}  // namespace

void RingWriter::Start(const Shared& shared) noexcept {
  ring_ = ring::RingOf(shared.segment);
  cursors_ = ring::CursorsOf(shared.segment);
  page_ = shared.page;
  doorbell_ = shared.doorbell;
  write_ = cursors_->write_position.value.load(std::memory_order_acquire);
  read_seen_ = cursors_->read_position.value.load(std::memory_order_acquire);
}

bool RingWriter::CheckAgent() noexcept {
  if (!agent_gone() && HasHungUp(LifeLine())) agent_gone_.store(true, std::memory_order_relaxed);
  return !agent_gone();
}

void RingWriter::RingDoorbell() noexcept {
  doorbell_->rings.fetch_add(1, std::memory_order_seq_cst);
  if (page_->agent_sleeps.load(std::memory_order_seq_cst) != 0) {
    FutexWake(&doorbell_->rings, std::numeric_limits<int>::max());
  }
}

bool RingWriter::WaitForSpace(std::uint64_t end) noexcept {
  while (true) {
    cursors_->writer_waits.store(1, std::memory_order_seq_cst);
    read_seen_ = cursors_->read_position.value.load(std::memory_order_seq_cst);
    if (end - read_seen_ <= ring::kRingBytes) break;
    RingDoorbell();
    FutexWait(LowWord(cursors_->read_position.value), static_cast<std::uint32_t>(read_seen_),
              kLookAfterNs);
    read_seen_ = cursors_->read_position.value.load(std::memory_order_acquire);
    if (end - read_seen_ <= ring::kRingBytes) break;
    if (!CheckAgent()) return false;
  }
  cursors_->writer_waits.store(0, std::memory_order_relaxed);
  return true;
}

bool RingWriter::Reserve(std::size_t bytes, std::uint64_t* position) noexcept {
  const std::size_t offset = write_ % ring::kRingBytes;
  const std::size_t contiguous = ring::kRingBytes - offset;
  const std::size_t needed = bytes <= contiguous ? bytes : contiguous + bytes;
  if (write_ + needed - read_seen_ > ring::kRingBytes && !WaitForSpace(write_ + needed)) {
    return false;
  }
  if (bytes > contiguous) {
    // The rest may be only 8 bytes: size and kind then stand without the clock.
    ring::RecordHeader pad{static_cast<std::uint32_t>(contiguous), ring::RecordKind::kPad, 0, 0};
    std::memcpy(ring_ + offset, &pad, contiguous < sizeof(pad) ? contiguous : sizeof(pad));
    write_ += contiguous;
  }
  *position = write_;
  return true;
}

bool RingWriter::Append(ring::RecordHeader* record, std::size_t record_bytes,
                        std::span<const std::span<const std::byte>> tail,
                        std::uint64_t* position) noexcept {
  const std::lock_guard guard(lock_);
  if (NotedDamage() != nullptr) PutDamage();
  return Put(record, record_bytes, tail, position);
}

bool RingWriter::AppendFrom(std::uint32_t line, ring::RecordHeader* record,
                            std::size_t record_bytes,
                            std::span<const std::span<const std::byte>> tail,
                            std::uint64_t* position) noexcept {
  const std::lock_guard guard(lock_);
  if (NotedDamage() != nullptr) PutDamage();
  PutLine(line);
  return Put(record, record_bytes, tail, position);
}

void RingWriter::PutLine(std::uint32_t line) noexcept {
  if (line == line_) return;
  line_ = line;
  ring::MarkRecord record{};
  record.header.kind = ring::RecordKind::kPythonLine;
  record.id = line;
  Put(&record.header, sizeof(record), {});
}

void RingWriter::PutDamage() noexcept {
  if (damage_told_) return;
  damage_told_ = true;
  const char* what = NotedDamage();
  ring::MarkRecord record{};
  record.header.kind = ring::RecordKind::kDamage;
  record.name_bytes = static_cast<std::uint32_t>(std::strlen(what));
  const std::span<const std::byte> text[] = {
      {reinterpret_cast<const std::byte*>(what), record.name_bytes}};
  Put(&record.header, sizeof(record), text);
}

void RingWriter::TellDamage() noexcept {
  if (NotedDamage() == nullptr) return;
  {
    const std::lock_guard guard(lock_);
    PutDamage();
  }
  RingDoorbell();
}

void RingWriter::CheckPosition() noexcept {
  const std::lock_guard guard(lock_);
  if (cursors_->write_position.value.load(std::memory_order_relaxed) == write_) return;
  NoteDamage("the write position was overwritten");
}

bool RingWriter::Put(ring::RecordHeader* record, std::size_t record_bytes,
                     std::span<const std::span<const std::byte>> tail,
                     std::uint64_t* placed) noexcept {
  std::size_t unpadded = record_bytes;
  for (const auto& part : tail) unpadded += part.size();
  const std::size_t bytes = RoundUp8(unpadded);
  CHECK(bytes <= ring::kMaxRecordBytes);
  record->bytes = static_cast<std::uint32_t>(bytes);
  std::uint64_t position;
  if (agent_gone() || !Reserve(bytes, &position)) return false;
  if (placed != nullptr) *placed = position;
  record->host_clock_ps = RecordClock();
  char* const begin = ring_ + position % ring::kRingBytes;
  char* at = begin;
  std::memcpy(at, record, record_bytes);
  at += record_bytes;
  for (const auto& part : tail) {
    if (part.empty()) continue;
    std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  std::memset(at, 0, bytes - unpadded);
  record->check = ring::RecordCheck(position, begin, bytes);
  std::memcpy(begin + offsetof(ring::RecordHeader, check), &record->check, sizeof(record->check));
  write_ = position + bytes;
  cursors_->write_position.value.store(write_, std::memory_order_release);

  if (write_ - read_seen_ > kQuarter) {
    read_seen_ = cursors_->read_position.value.load(std::memory_order_acquire);
    if (write_ - read_seen_ > kQuarter && write_ - rung_at_ > kRingAgainBytes) {
      rung_at_ = write_;
      RingDoorbell();
    }
  }
  return true;
}

}  // namespace eidolon::shim::core
