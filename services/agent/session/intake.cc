#include "services/agent/session/intake.h"

#include <string_view>

#include "services/agent/ring/record_check.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::SimTime;
using base::StrCat;

base::Result<void> Intake::Take(const ring::RecordView& record, std::uint64_t position) {
  const SimTime issued{static_cast<std::int64_t>(record.header().host_clock_ps)};
  const auto before = [&](std::string_view what, SimTime other) {
    return Fail(ErrorCode::kCorrupt,
                StrCat(ring::Name(record.header().kind), " record: its clock, ", issued.ps,
                       " ps, is before ", what, ", ", other.ps, " ps"));
  };
  if (issued < issued_) return before("the previous record's", issued_);
  const std::uint64_t behind_pad =
      (early_position_ + wire::kRingBytes - 1) / wire::kRingBytes * wire::kRingBytes;
  if (position > early_position_ && position != behind_pad && issued < early_clock_) {
    return before("what the rank's clock said by then", early_clock_);
  }
  issued_ = issued;
  position_ = position;
  return {};
}

base::Result<void> Intake::Finish(const ring::RecordView& record) const {
  if (!beyond_time_) return {};
  return Fail(ErrorCode::kCorrupt,
              StrCat(ring::Name(record.header().kind), " record: its work ends beyond all time"));
}

void Intake::NoteClock(SimTime clock, std::uint64_t written) {
  early_clock_ = clock;
  early_position_ = written;
}

void Intake::NoteEnd(SimTime finish) {
  if (finish.ps > static_cast<std::int64_t>(ring::kClockMaxPs)) beyond_time_ = true;
}

base::Result<void> Intake::TakeSlot(const ring::RecordView& question) {
  const std::uint32_t slot = question.As<wire::WaitRecord>().slot;  // All begin with it.
  if (waiting_.test(slot)) {
    return Fail(ErrorCode::kCorrupt,
                StrCat(ring::Name(question.header().kind), " record: reply slot ", slot,
                       " waits for an answer already"));
  }
  waiting_.set(slot);
  return {};
}

}  // namespace eidolon::agent::session
