// An answer must be the same in every run, so a query is decided only when nothing can change it
// any more: the work has ended, it cannot have ended by then, or every rank of the job has passed
// the asked moment. The engine reports ended work while it is in the middle of an update, where a
// new question would find it inconsistent. So NoteEnded only notes, and Settle answers afterwards;
// an answer may ask the engine again (AskElapsed). Questions of watchdog threads (observers)
// neither bound the horizon nor wait for it.
#include "services/agent/session/waits.h"

#include <algorithm>
#include <span>
#include <utility>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;
using base::SimTime;
using wire::RecordKind;
using wire::ReplyStatus;

namespace {

constexpr std::int64_t kLongestSleepNs = 100'000'000;

SimTime ClockOf(const wire::RecordHeader& header) {
  return {static_cast<std::int64_t>(header.host_clock_ps)};
}

timeline::HostCall HostCallOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kSynchronizeStream:
      return timeline::HostCall::kSynchronizeStream;
    case RecordKind::kSynchronizeDevice:
      return timeline::HostCall::kSynchronizeDevice;
    case RecordKind::kWaitUntil:
      return timeline::HostCall::kSleep;
    default:
      return timeline::HostCall::kSynchronizeEvent;
  }
}

}  // namespace

void Waits::Show(const Record& record, SimTime time) {
  if (timeline_ != nullptr && record.observer == 0) {
    timeline_->NoteWait(HostCallOf(record.header.kind), ClockOf(record.header),
                        {.sequence = engine_->issued(), .host_clock = time}, lines_[record.slot]);
  }
}

base::Result<device::Engine::Completion> Waits::EndOf(const Record& record,
                                                      std::optional<std::uint64_t> ticket) {
  const auto id = static_cast<std::uint32_t>(record.id);
  switch (record.header.kind) {
    case RecordKind::kSynchronizeStream:
    case RecordKind::kQueryStream:
      return engine_->StreamEnd(record.header.device, id, ticket);
    case RecordKind::kSynchronizeDevice:
      return engine_->DeviceEnd(record.header.device, ticket);
    default:
      return engine_->EventEnd(id, ticket);
  }
}

ApplyResult Waits::AskCompletion(const Record& record) {
  const std::uint64_t ticket = next_ticket_++;
  const auto end = EndOf(record, ticket);
  if (!end) return std::unexpected(end.error());
  if (end->time.has_value()) {
    // A wait for work that ended earlier ends at once.
    const SimTime time = std::max(*end->time, ClockOf(record.header));
    Show(record, time);
    replies_->SendTime(record.slot, time);
    return Applied::kYes;
  }
  open_[ticket] = {.record = record, .node = end->node};
  // An observer's waiting says nothing about the program's.
  if (record.observer == 0) replies_->AwaitNetwork(record.slot, end->not_before);
  return Applied::kYes;
}

ApplyResult Waits::AskQuery(const Record& record) {
  const auto end = EndOf(record, std::nullopt);
  if (!end) return std::unexpected(end.error());
  const SimTime asked = ClockOf(record.header);
  const bool is_open = !end->time.has_value();
  // A host far ahead of its GPU asks about work that cannot have ended, whatever other ranks do. An
  // allocator asks so for each block that another stream used: no answer of the network is needed.
  const bool is_known = !is_open || end->not_before > asked || host_->safe_through() >= asked;
  if (!is_known && record.observer == 0) {
    moments_[record.slot] = record;
    replies_->AwaitMoment(record.slot, asked);
    return Applied::kYes;
  }
  const bool complete = !is_open && (*end->time <= asked || record.observer != 0);
  replies_->Send(record.slot,
                 {.status = complete ? ReplyStatus::kOk : ReplyStatus::kNotReady,
                  .value_ps = is_open ? 0 : static_cast<std::uint64_t>(end->time->ps)});
  return Applied::kYes;
}

void Waits::AnswerSensors(const Record& record, std::optional<SimTime> time) {
  const wire::DeviceSensors sensors = host_->SensorsOf(record.header.device, time);
  replies_->Send(record.slot,
                 {.value_ps = sensors.time_ps, .payload = std::as_bytes(std::span(&sensors, 1))});
}

void Waits::AskMoment(const Record& record, bool driving) {
  if (record.header.kind == RecordKind::kSensors) {
    const SimTime asked = ClockOf(record.header);
    // Nobody waits for the clock of a monitor, which so is not that of its GPUs.
    if (!driving) return AnswerSensors(record, std::nullopt);
    if (record.observer != 0 || host_->safe_through() >= asked) return AnswerSensors(record, asked);
    moments_[record.slot] = record;
    return replies_->AwaitMoment(record.slot, asked);
  }
  // A program may sleep longer than time lasts.
  const SimTime moment{static_cast<std::int64_t>(
      std::min<std::uint64_t>(record.id, static_cast<std::uint64_t>(SimTime::Max().ps)))};
  if (!driving) {
    // A launcher polls while it sleeps. Nobody waits for its clock, so it sleeps for real, but not
    // long.
    const auto asked_ns = std::max<std::int64_t>(0, (moment - ClockOf(record.header)).ps / 1000);
    sleepers_.push_back({.slot = record.slot,
                         .moment = moment,
                         .until_ns = host_->now_ns() + std::min(asked_ns, kLongestSleepNs)});
    return;
  }
  if (record.observer != 0 || host_->safe_through() >= moment) {
    Show(record, moment);
    return replies_->SendMoment(record.slot, moment);
  }
  moments_[record.slot] = record;
  replies_->AwaitMoment(record.slot, moment);
}

ApplyResult Waits::AskElapsed(const Record& record) {
  const std::uint64_t ticket = next_ticket_++;
  const auto begin = engine_->EventEnd(static_cast<std::uint32_t>(record.id), ticket);
  if (!begin) return std::unexpected(begin.error());
  auto open_ticket = begin->time.has_value() ? std::optional(ticket) : std::nullopt;
  const auto end = engine_->EventEnd(static_cast<std::uint32_t>(record.id2), open_ticket);
  if (!end) return std::unexpected(end.error());
  if (begin->time.has_value() && end->time.has_value()) {
    const auto elapsed = *end->time - *begin->time;
    replies_->Send(record.slot, {.value_ps = static_cast<std::uint64_t>(elapsed.ps)});
    return Applied::kYes;
  }
  open_[ticket] = {.record = record};
  if (record.observer == 0) replies_->AwaitNetwork(record.slot, {});
  return Applied::kYes;
}

// The engine has told of waits that ended while it was at work; now they can be answered.
void Waits::Settle() {
  for (std::size_t i = 0; i < ended_.size(); ++i) {
    const auto [ticket, time] = ended_[i];
    const auto found = open_.find(ticket);
    if (found == open_.end()) continue;
    const Record record = found->second.record;
    open_.erase(found);
    if (record.header.kind == RecordKind::kElapsedTime) {
      // Both events existed when it was asked; one that was destroyed since has no time.
      if (!AskElapsed(record)) replies_->Send(record.slot, {.status = ReplyStatus::kInvalid});
    } else {
      const SimTime end = std::max(time, ClockOf(record.header));
      Show(record, end);
      replies_->SendTime(record.slot, end);
    }
  }
  ended_.clear();
}

void Waits::RaiseBounds() {
  for (const auto& [ticket, wait] : open_) {
    if (wait.node == 0 || wait.record.observer != 0) continue;
    replies_->RaiseAwaited(wait.record.slot, engine_->EarliestEnd(wait.node));
  }
}

void Waits::AnswerMoments(bool driving) {
  const std::map<std::uint32_t, Record> moments = std::exchange(moments_, {});
  for (const auto& [slot, record] : moments) {
    const RecordKind kind = record.header.kind;
    if (kind == RecordKind::kSensors || kind == RecordKind::kWaitUntil) {
      AskMoment(record, driving);
    } else if (!AskQuery(record)) {
      replies_->Send(slot, {.status = ReplyStatus::kInvalid});
    }
  }
}

std::optional<SimTime> Waits::EarliestQuery() const {
  std::optional<SimTime> earliest;
  for (const auto& [slot, record] : moments_) {
    if (record.header.kind == RecordKind::kWaitUntil) continue;
    const SimTime asked = ClockOf(record.header);
    earliest = std::min(earliest.value_or(asked), asked);
  }
  return earliest;
}

void Waits::AnswerUndecided(SimTime asked) {
  std::erase_if(moments_, [&](const auto& moment) {
    const auto& [slot, record] = moment;
    const bool is_query = record.header.kind != RecordKind::kWaitUntil;
    if (!is_query || ClockOf(record.header) > asked) return false;
    if (record.header.kind == RecordKind::kSensors) {
      AnswerSensors(record, ClockOf(record.header));
    } else {
      replies_->Send(slot, {.status = ReplyStatus::kNotReady});
    }
    return true;
  });
}

void Waits::WakeSleepers() {
  if (sleepers_.empty()) return;
  const std::int64_t now = host_->now_ns();
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) {
    if (now < sleeper.until_ns) return false;
    replies_->Send(sleeper.slot, {.value_ps = static_cast<std::uint64_t>(sleeper.moment.ps)});
    return true;
  });
}

void Waits::Dismiss() {
  const ring::Reply ending{.status = ReplyStatus::kJobEnding};
  for (const Sleeper& sleeper : sleepers_) replies_->Send(sleeper.slot, ending);
  for (const auto& [ticket, wait] : open_) replies_->Send(wait.record.slot, ending);
  for (const auto& [slot, record] : moments_) replies_->Send(slot, ending);
  Forget();
}

void Waits::Forget() {
  open_.clear();
  moments_.clear();
  sleepers_.clear();
}

}  // namespace eidolon::agent::session
