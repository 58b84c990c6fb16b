// Checks whether the records of one ring fit each other, as far as that needs no more than the
// records: a checked record (ring/record_check.h) may still be none that the shim would write here.
#pragma once

#include <bitset>
#include <cstdint>

#include "services/agent/ring/reader.h"
#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::agent::session {

// Intake of one session. Errors name the record and what is wrong with it. Main loop only.
class Intake {
 public:
  // The next record, which lies at `position`: times in order. Those that are written after the
  // rank's clock was read have a clock that is not smaller, but for the one that may be on its way
  // in then.
  base::Result<void> Take(const ring::RecordView& record, std::uint64_t position);
  // The record is applied: its work must end within time.
  base::Result<void> Finish(const ring::RecordView& record) const;

  // The rank's clock as it stands in the segment, read before `written`, the write position.
  void NoteClock(base::SimTime clock, std::uint64_t written);
  // An operation ends then.
  void NoteEnd(base::SimTime finish);

  // A thread waits in its slot for one answer at a time. Requires: the record is a question.
  base::Result<void> TakeSlot(const ring::RecordView& question);
  void FreeSlot(std::uint32_t slot) { waiting_.reset(slot); }

  // Returns the position of the record taken last.
  std::uint64_t position() const { return position_; }

 private:
  std::uint64_t position_ = 0;
  base::SimTime issued_;
  base::SimTime early_clock_;
  std::uint64_t early_position_ = 0;
  bool beyond_time_ = false;
  std::bitset<ring::wire::kReplySlots> waiting_;
};

}  // namespace eidolon::agent::session
