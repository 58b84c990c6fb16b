// The writer lives in the user's process, where a stray pointer can change anything at any time. So
// a record is copied first, and only the copy is checked and used; the size that was checked is put
// back into the copy. The checksum covers the position, which shows a record of an earlier round. A
// wrong read position is damage as well: the writer would overwrite what was not read. Release
// stores the position before it looks for a waiting writer, and both are sequentially consistent,
// so a writer that goes to sleep at the same moment is woken.
#include "services/agent/ring/reader.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "services/agent/ring/record_check.h"
#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/ring/check.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

// Size and kind; the only part that even the shortest pad has.
struct Start {
  std::uint32_t bytes;
  wire::RecordKind kind;
  std::uint16_t device;
};
static_assert(sizeof(Start) == 8);

}  // namespace

Reader::Reader(void* segment, std::uint32_t device_count)
    : cursors_(wire::CursorsOf(segment)),
      ring_(wire::RingOf(segment)),
      device_count_(device_count),
      copy_(4096 / sizeof(std::uint64_t)) {}

std::uint64_t Reader::written() const {
  return cursors_->write_position.value.load(std::memory_order_acquire);
}

bool Reader::HasMore(std::uint64_t position) const {
  return cursors_->write_position.value.load(std::memory_order_acquire) != position;
}

std::uint64_t Reader::backlog() const {
  const std::uint64_t written = cursors_->write_position.value.load(std::memory_order_relaxed);
  return std::min<std::uint64_t>(written - released_, wire::kRingBytes);
}

std::unexpected<base::Error> Reader::Damaged(std::uint64_t position,
                                             const std::string& what) const {
  return Fail(ErrorCode::kCorrupt, StrCat("ring damaged at byte ", position, ": ", what));
}

Result<std::optional<RecordView>> Reader::Read(std::uint64_t* position) {
  // Only this reader may move it; a writer that believes a wrong one writes over unread records.
  const std::uint64_t freed = cursors_->read_position.value.load(std::memory_order_relaxed);
  if (freed != released_) {
    return Damaged(*position, StrCat("the read position is ", freed, ", not ", released_));
  }
  while (true) {
    const std::uint64_t written = cursors_->write_position.value.load(std::memory_order_acquire);
    if (written == *position) return std::nullopt;
    if (written < *position || written - released_ > wire::kRingBytes || written % 8 != 0) {
      return Damaged(*position, StrCat("the write position is ", written));
    }
    auto taken = Take(position, written - *position);
    if (!taken || taken->has_value()) return taken;
  }
}

// Takes one record; nothing when it was a pad.
Result<std::optional<RecordView>> Reader::Take(std::uint64_t* position, std::uint64_t available) {
  const std::size_t offset = *position % wire::kRingBytes;
  const std::size_t contiguous = wire::kRingBytes - offset;
  Start start;
  std::memcpy(&start, ring_ + offset, sizeof(start));
  const std::uint64_t limit = std::min<std::uint64_t>(available, contiguous);
  if (start.bytes < sizeof(Start) || start.bytes % 8 != 0 || start.bytes > limit) {
    return Damaged(*position,
                   StrCat("a record says it has ", start.bytes, " bytes, ", limit, " are there"));
  }
  if (start.kind == wire::RecordKind::kPad) {
    if (start.bytes != contiguous || start.device != 0) {
      return Damaged(*position, "a pad record does not reach the end of the ring");
    }
    *position += start.bytes;
    return std::nullopt;
  }
  if (start.bytes < sizeof(wire::RecordHeader) || start.bytes > wire::kMaxRecordBytes) {
    return Damaged(*position, StrCat("a record has ", start.bytes, " bytes"));
  }
  const std::size_t words = start.bytes / sizeof(std::uint64_t);
  if (copy_.size() < words) copy_.resize(words);
  std::memcpy(copy_.data(), ring_ + offset, start.bytes);
  // The size that was checked is the one that counts, also if it changed meanwhile.
  std::memcpy(copy_.data(), &start, sizeof(start));
  const RecordView view{std::as_bytes(std::span(copy_.data(), words))};
  if (wire::RecordCheck(*position, copy_.data(), start.bytes) != view.header().check) {
    const std::string_view name = Name(start.kind);
    return Damaged(*position, StrCat(name, " record: its ", start.bytes,
                                     " bytes were overwritten, or were never written"));
  }
  if (auto checked = CheckRecord(view.bytes, device_count_); !checked) {
    return Damaged(*position, checked.error().message);
  }
  *position += start.bytes;
  return view;
}

void Reader::Release(std::uint64_t position) {
  CHECK(position >= released_);
  if (position == released_) return;
  released_ = position;
  cursors_->read_position.value.store(position, std::memory_order_seq_cst);
  if (cursors_->writer_waits.load(std::memory_order_seq_cst) != 0) {
    syscall(SYS_futex, &cursors_->read_position.value, FUTEX_WAKE, std::numeric_limits<int>::max(),
            nullptr, nullptr, 0);
  }
}

}  // namespace eidolon::agent::ring
