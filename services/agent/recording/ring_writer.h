// The shim's side of one ring, for records that come from a recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/contract/ring/layout.h"

namespace eidolon::agent::recording {

// The only writer of its segment, which outlives it. Not thread safe.
class RingWriter {
 public:
  // Requires: `segment` is a mapped Segment.
  explicit RingWriter(void* segment) : segment_(segment) {}

  // Returns whether a record of so many bytes fits, before the agent has read on.
  bool HasRoom(std::size_t bytes) const;
  // The agent has applied everything.
  bool IsDrained() const;
  // Appends a record with this clock and its check. Requires: HasRoom.
  void Append(std::span<const std::byte> record, std::uint64_t clock_ps);
  // The rank's clock, at least that of the last record.
  void SetClock(std::uint64_t clock_ps);

  // Called before a question is appended that waits in the slot.
  void Pend(std::uint32_t slot);
  struct Answer {
    bool ok = false;
    std::uint64_t value_ps = 0;
  };
  // Nothing while the agent has not answered.
  std::optional<Answer> FindAnswer(std::uint32_t slot) const;

  void SayFarewell(::eidolon::ring::Farewell farewell);

 private:
  std::size_t PadBefore(std::size_t bytes) const;
  void Put(std::span<const std::byte> bytes);

  void* segment_;
  std::uint64_t position_ = 0;
  std::vector<std::uint64_t> copy_;
};

}  // namespace eidolon::agent::recording
