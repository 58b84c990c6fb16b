// A replay must wait where the program waited, or a faster network could not shorten it. The
// recording has no causes, only clocks, so they are inferred: a record follows all answers whose
// recorded time is not after its clock, and the rest of the time since then was the host's work.
// That work is added to the clocks of this run. The recording is a file from a user, so every entry
// is checked as if it came from a ring, and slots are checked for being asked before they are
// answered.
#include "services/agent/recording/playback.h"

#include <algorithm>

#include "services/agent/ring/record_check.h"
#include "services/base/text.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::recording {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

constexpr std::uint64_t kPermille = 1000;

}  // namespace

base::Result<bool> Playback::Advance() {
  bool moved = false;
  while (!ended_) {
    if (!next_.has_value()) {
      auto read = entries_.Next();
      if (!read) return std::unexpected(read.error());
      if (!read->has_value()) {
        return Fail(ErrorCode::kCorrupt, "the recording of a rank has no end");
      }
      next_ = **read;
    }
    const auto done = Step(*next_);
    if (!done) return std::unexpected(done.error());
    if (!*done) break;
    next_.reset();
    moved = true;
  }
  return moved;
}

// False while the entry must wait for an answer, or for room.
base::Result<bool> Playback::Step(const kept::EntryView& entry) {
  if (entry.header().host_clock_ps > ring::kClockMaxPs) {
    return Fail(ErrorCode::kCorrupt, "the recording is damaged: a clock lies beyond all time");
  }
  if (entry.IsRecord()) return Write(entry);
  switch (entry.kind()) {
    case kept::EntryKind::kAnswer:
      return Give(entry);
    case kept::EntryKind::kIteration:
      return EndIteration(entry);
    case kept::EntryKind::kEnd:
      return End(entry);
  }
  return Fail(ErrorCode::kCorrupt, "the recording is damaged: an entry is of an unknown kind");
}

base::Result<bool> Playback::Write(const kept::EntryView& entry) {
  if (auto checked = ring::CheckRecord(entry.bytes, options_.device_count); !checked) {
    return std::unexpected(checked.error());
  }
  const wire::RecordHeader& header = entry.header();
  if (header.host_clock_ps < last_.recorded_ps) {
    return Fail(ErrorCode::kCorrupt, "the recording is damaged: a clock runs backwards");
  }
  const auto base = BaseOf(header.host_clock_ps);
  if (!base.has_value() || !writer_.HasRoom(entry.bytes.size())) return false;
  if (kept::IsTimedQuestion(header.kind)) {
    if (auto opened = Open(entry); !opened) return std::unexpected(opened.error());
  } else if (kept::IsUntimedQuestion(header.kind)) {
    return Fail(ErrorCode::kCorrupt, "the recording is damaged: it asks what no recording keeps");
  }
  last_ = {header.host_clock_ps, ClockOf(*base, header.host_clock_ps)};
  writer_.Append(entry.bytes, last_.ps);
  return true;
}

base::Result<void> Playback::Open(const kept::EntryView& question) {
  const std::uint32_t slot = question.As<wire::WaitRecord>().slot;  // All begin with it.
  const bool is_given =
      std::ranges::any_of(given_, [slot](const Given& given) { return given.slot == slot; });
  if (asked_.test(slot) || is_given) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("the recording is damaged: slot ", slot, " waits for two answers"));
  }
  asked_.set(slot);
  writer_.Pend(slot);
  return {};
}

base::Result<bool> Playback::Give(const kept::EntryView& entry) {
  const auto& answer = entry.As<kept::AnswerEntry>();
  if (answer.slot >= wire::kReplySlots || !asked_.test(answer.slot)) {
    return Fail(ErrorCode::kCorrupt, StrCat("the recording is damaged: slot ", answer.slot,
                                            " has an answer and asked "
                                            "nothing"));
  }
  asked_.reset(answer.slot);
  given_.push_back({answer.slot, answer.header.host_clock_ps});
  return true;
}

// Returns what a record with this clock follows on; nothing while an answer is missing.
std::optional<Playback::Moment> Playback::BaseOf(std::uint64_t recorded_ps) {
  Moment base = last_;
  for (const Given& given : given_) {
    if (given.recorded_ps > recorded_ps) continue;
    const auto answer = writer_.FindAnswer(given.slot);
    if (!answer.has_value()) return std::nullopt;
    const std::uint64_t now = answer->ok ? answer->value_ps : last_.ps;
    told_ps_ = std::max(told_ps_, now);
    base = {std::max(base.recorded_ps, given.recorded_ps), std::max(base.ps, now)};
  }
  std::erase_if(given_, [&](const Given& given) { return given.recorded_ps <= recorded_ps; });
  last_ = base;
  return base;
}

std::uint64_t Playback::ClockOf(const Moment& base, std::uint64_t recorded_ps) const {
  const std::uint64_t worked = recorded_ps - base.recorded_ps;
  if (options_.host_permille == kPermille) return base.ps + worked;
  __extension__ typedef unsigned __int128 Wide;
  const Wide scaled = static_cast<Wide>(worked) * options_.host_permille / kPermille;
  return base.ps + static_cast<std::uint64_t>(std::min<Wide>(scaled, ring::kClockMaxPs));
}

// The line was written behind every answer that was given before it.
bool Playback::EndIteration(const kept::EntryView& entry) {
  std::uint64_t told = told_ps_;
  for (const Given& given : given_) {
    const auto answer = writer_.FindAnswer(given.slot);
    if (!answer.has_value()) return false;
    if (answer->ok) told = std::max(told, answer->value_ps);
  }
  if (options_.on_iteration) {
    options_.on_iteration(entry.As<kept::IterationEntry>().sequence,
                          {static_cast<std::int64_t>(told)});
  }
  return true;
}

bool Playback::End(const kept::EntryView& entry) {
  const std::uint64_t recorded = std::max(entry.header().host_clock_ps, last_.recorded_ps);
  const auto base = BaseOf(recorded);
  if (!base.has_value()) return false;
  writer_.SetClock(ClockOf(*base, recorded));
  ended_ = true;
  return true;
}

}  // namespace eidolon::agent::recording
