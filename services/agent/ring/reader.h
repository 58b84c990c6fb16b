// The agent's side of one ring: takes records out in order, each copied and checked.
//
// A record is copied before it is checked, so what was checked is what is used, whatever the other
// process writes meanwhile. Two positions read the same ring: a scout that looks ahead for work
// definitions, and the main one behind which space is given back to the writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// A checked record. Valid until the next Read of the reader it came from.
struct RecordView {
  std::span<const std::byte> bytes;

  const wire::RecordHeader& header() const { return As<wire::RecordHeader>(); }
  // Requires: T is the kind's struct.
  template <typename T>
  const T& As() const {
    return *reinterpret_cast<const T*>(bytes.data());
  }
  template <typename T>
  std::span<const std::byte> TailAfter() const {
    return bytes.subspan(sizeof(T));
  }
};

// This class is not thread-safe; the only reader of its segment. The segment outlives it.
class Reader {
 public:
  // Requires: `segment` is a mapped Segment.
  Reader(void* segment, std::uint32_t device_count);

  // The next record at *position, which moves behind it; nothing when the writer has written no
  // more. An error (code kCorrupt) says what is damaged and where; reading on is then pointless.
  base::Result<std::optional<RecordView>> Read(std::uint64_t* position);

  // The writer's position, as it stands there.
  std::uint64_t written() const;
  // True when a record lies at `position`.
  bool HasMore(std::uint64_t position) const;

  // Gives everything before `position` back to the writer and wakes it if it waits for space.
  void Release(std::uint64_t position);

  std::uint64_t released() const { return released_; }
  // Bytes written and not released.
  std::uint64_t backlog() const;

 private:
  base::Result<std::optional<RecordView>> Take(std::uint64_t* position, std::uint64_t available);
  std::unexpected<base::Error> Damaged(std::uint64_t position, const std::string& what) const;

  wire::Cursors* cursors_;
  const char* ring_;
  std::uint32_t device_count_;
  std::uint64_t released_ = 0;
  std::vector<std::uint64_t> copy_;  // 64-bit words for alignment.
};

}  // namespace eidolon::agent::ring
