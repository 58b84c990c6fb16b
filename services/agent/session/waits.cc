// Threads that wait in reply slots: synchronisation, queries, elapsed times, moments.
#include <algorithm>
#include <utility>

#include "services/agent/ring/record_check.h"
#include "services/agent/session/session.h"
#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::SimTime;
using wire::RecordKind;
using wire::ReplyStatus;

namespace {

constexpr std::int64_t kLongestSleepNs = 100'000'000;

}  // namespace

Session::Outcome Session::Ask(const ring::RecordView& record) {
  if (auto taken = intake_.TakeSlot(record); !taken) return std::unexpected(taken.error());
  const auto& question = record.As<wire::WaitRecord>();
  switch (record.header().kind) {
    case RecordKind::kSynchronizeStream:
    case RecordKind::kSynchronizeDevice:
    case RecordKind::kSynchronizeEvent:
      if (question.observer == 0) detector_.NoteWait();
      return AskCompletion(question);
    case RecordKind::kQueryStream:
    case RecordKind::kQueryEvent:
      return AskQuery(question);
    case RecordKind::kElapsedTime:
      return AskElapsed(question);
    case RecordKind::kCollectiveValues:
      return AskValues(question);
    case RecordKind::kWaitUntil:
      AskMoment(question);
      return Applied::kYes;
    default:
      CHECK(false);
  }
  return Applied::kYes;
}

void Session::Reply(std::uint32_t slot, const ring::Reply& reply) {
  host_->horizon().EndWait(options_.number, slot);
  intake_.FreeSlot(slot);
  segment_.Answer(slot, reply);
}

void Session::ReplyTime(std::uint32_t slot, SimTime time) {
  last_reply_ = std::max(last_reply_, time);
  last_reply_sequence_ = engine_.issued();
  Reply(slot, {.status = ReplyStatus::kOk, .value_ps = static_cast<std::uint64_t>(time.ps)});
}

base::Result<device::Engine::Completion> Session::EndOf(const wire::WaitRecord& record,
                                                        std::optional<std::uint64_t> ticket) {
  const auto id = static_cast<std::uint32_t>(record.id);
  switch (record.header.kind) {
    case RecordKind::kSynchronizeStream:
    case RecordKind::kQueryStream:
      return engine_.StreamEnd(record.header.device, id, ticket);
    case RecordKind::kSynchronizeDevice:
      return engine_.DeviceEnd(record.header.device, ticket);
    default:
      return engine_.EventEnd(id, ticket);
  }
}

Session::Outcome Session::AskCompletion(const wire::WaitRecord& record) {
  const std::uint64_t ticket = next_ticket_++;
  const auto end = EndOf(record, ticket);
  if (!end) return std::unexpected(end.error());
  if (end->time.has_value()) {
    // A wait for work that ended earlier ends at once.
    ReplyTime(record.slot, std::max(*end->time, ClockOf(record.header)));
    return Applied::kYes;
  }
  waits_[ticket] = {.record = record, .ticket = ticket};
  // An observer's waiting says nothing about the program's.
  if (record.observer == 0) host_->horizon().BeginNetworkWait(options_.number, record.slot);
  return Applied::kYes;
}

Session::Outcome Session::AskQuery(const wire::WaitRecord& record) {
  const auto end = EndOf(record, std::nullopt);
  if (!end) return std::unexpected(end.error());
  const SimTime asked = ClockOf(record.header);
  const bool is_open = !end->time.has_value();
  if (is_open && record.observer == 0 && host_->safe_through() < asked) {
    moments_[record.slot] = {.record = record};
    host_->horizon().BeginMomentWait(options_.number, record.slot, asked);
    return Applied::kYes;
  }
  const bool complete = !is_open && (*end->time <= asked || record.observer != 0);
  Reply(record.slot, {.status = complete ? ReplyStatus::kOk : ReplyStatus::kNotReady,
                      .value_ps = is_open ? 0 : static_cast<std::uint64_t>(end->time->ps)});
  return Applied::kYes;
}

void Session::AskMoment(const wire::WaitRecord& record) {
  // A program may sleep longer than time lasts.
  const SimTime moment{static_cast<std::int64_t>(
      std::min<std::uint64_t>(record.id, static_cast<std::uint64_t>(SimTime::Max().ps)))};
  if (!driving_) {
    // A launcher polls while it sleeps. Nobody waits for its clock, so it sleeps for real, but not
    // long.
    const auto wished_ns = std::max<std::int64_t>(0, (moment - ClockOf(record.header)).ps / 1000);
    sleepers_.push_back({.slot = record.slot,
                         .moment = moment,
                         .until_ns = host_->now_ns() + std::min(wished_ns, kLongestSleepNs)});
    return;
  }
  if (record.observer != 0 || host_->safe_through() >= moment) {
    return Reply(record.slot, {.value_ps = static_cast<std::uint64_t>(moment.ps)});
  }
  moments_[record.slot] = {.record = record};
  host_->horizon().BeginMomentWait(options_.number, record.slot, moment);
}

Session::Outcome Session::AskElapsed(const wire::WaitRecord& record) {
  const std::uint64_t ticket = next_ticket_++;
  const auto begin = engine_.EventEnd(static_cast<std::uint32_t>(record.id), ticket);
  if (!begin) return std::unexpected(begin.error());
  auto open_ticket = begin->time.has_value() ? std::optional(ticket) : std::nullopt;
  const auto end = engine_.EventEnd(static_cast<std::uint32_t>(record.id2), open_ticket);
  if (!end) return std::unexpected(end.error());
  if (begin->time.has_value() && end->time.has_value()) {
    const auto elapsed = *end->time - *begin->time;
    Reply(record.slot, {.value_ps = static_cast<std::uint64_t>(elapsed.ps)});
    return Applied::kYes;
  }
  waits_[ticket] = {.record = record, .ticket = ticket};
  if (record.observer == 0) host_->horizon().BeginNetworkWait(options_.number, record.slot);
  return Applied::kYes;
}

// The engine has told of waits that ended while it was at work; now they can be answered.
void Session::SettleWaits() {
  for (std::size_t i = 0; i < ended_waits_.size(); ++i) {
    const auto [ticket, time] = ended_waits_[i];
    const auto found = waits_.find(ticket);
    if (found == waits_.end()) continue;
    const wire::WaitRecord record = found->second.record;
    waits_.erase(found);
    if (record.header.kind == RecordKind::kElapsedTime) {
      // Both events existed when it was asked; one that was destroyed since has no time.
      if (!AskElapsed(record)) Reply(record.slot, {.status = ReplyStatus::kInvalid});
    } else {
      ReplyTime(record.slot, std::max(time, ClockOf(record.header)));
    }
  }
  ended_waits_.clear();
}

void Session::AnswerMoments() {
  const std::map<std::uint32_t, OpenWait> moments = std::exchange(moments_, {});
  for (const auto& [slot, wait] : moments) {
    if (wait.record.header.kind == RecordKind::kWaitUntil) {
      AskMoment(wait.record);
    } else if (!AskQuery(wait.record)) {
      Reply(slot, {.status = ReplyStatus::kInvalid});
    }
  }
}

void Session::WakeSleepers() {
  if (sleepers_.empty()) return;
  const std::int64_t now = host_->now_ns();
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) {
    if (now < sleeper.until_ns) return false;
    Reply(sleeper.slot, {.value_ps = static_cast<std::uint64_t>(sleeper.moment.ps)});
    return true;
  });
}

std::string Session::LastDoing() const {
  std::string text =
      base::StrCat("its last record: ", ring::Name(last_kind_), ", launches so far: ", launches_);
  for (const auto& [id, communicator] : communicators_) {
    if (communicator.open.empty()) continue;
    const auto& [call, token] = *communicator.open.begin();
    const std::string& name = host_->costs().name(calls_.at(token).name_number);
    text +=
        base::StrCat("; not finished: call ", call.sequence, " (", name, ") of communicator ", id);
  }
  return text;
}

void Session::Dismiss() {
  for (const Sleeper& sleeper : sleepers_) {
    Reply(sleeper.slot, {.status = ReplyStatus::kJobEnding});
  }
  sleepers_.clear();
  const ring::Reply ending{.status = ReplyStatus::kJobEnding};
  for (const auto& [ticket, wait] : waits_) Reply(wait.record.slot, ending);
  for (const auto& [slot, wait] : moments_) Reply(slot, ending);
  for (const auto& [request, join] : joins_) Reply(join.slot, ending);
  for (auto& [id, communicator] : communicators_) {
    for (const auto& asked : communicator.asked) Reply(asked.slot, ending);
    communicator.asked.clear();
  }
  waits_.clear();
  moments_.clear();
  joins_.clear();
}

}  // namespace eidolon::agent::session
