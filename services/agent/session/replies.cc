#include "services/agent/session/replies.h"

#include <algorithm>

namespace eidolon::agent::session {

using base::SimTime;

void Replies::AwaitNetwork(std::uint32_t slot, SimTime not_before) {
  host_->horizon().BeginNetworkWait(process_, slot, not_before);
}

void Replies::RaiseAwaited(std::uint32_t slot, SimTime not_before) {
  host_->horizon().RaiseNetworkWait(process_, slot, not_before);
}

void Replies::AwaitMoment(std::uint32_t slot, SimTime moment) {
  host_->horizon().BeginMomentWait(process_, slot, moment);
}

void Replies::AwaitValues(std::uint32_t slot) { host_->horizon().BeginValueWait(process_, slot); }

void Replies::NoteAsked(std::uint32_t slot, SimTime asked) { asked_[slot] = asked; }

// What several threads wait for at once is one wait.
void Replies::NoteWaitUntil(std::uint32_t slot, SimTime time) {
  const SimTime from = std::max(asked_[slot], waited_until_);
  if (time <= from) return;
  waited_ += time - from;
  waited_until_ = time;
}

void Replies::Send(std::uint32_t slot, const ring::Reply& reply) {
  if (host_->horizon().EndWait(process_, slot)) {
    // Others were told of what happens until then.
    const SimTime safe = host_->safe_through();
    segment_->RaiseFloor(static_cast<std::uint64_t>(safe.ps));
    host_->horizon().SetClock(process_, safe);
    NoteWaitUntil(slot, safe);
  }
  intake_->FreeSlot(slot);
  if (recorder_ != nullptr && reply.status == ::eidolon::ring::ReplyStatus::kOk) {
    recorder_->NoteAnswer(slot, SimTime{static_cast<std::int64_t>(reply.value_ps)});
  }
  segment_->Answer(slot, reply);
}

void Replies::SendMoment(std::uint32_t slot, SimTime moment) {
  NoteWaitUntil(slot, moment);
  Send(slot, {.value_ps = static_cast<std::uint64_t>(moment.ps)});
}

void Replies::SendTime(std::uint32_t slot, SimTime time) {
  NoteWaitUntil(slot, time);
  NoteTold(time);
  Send(slot, {.status = ::eidolon::ring::ReplyStatus::kOk,
              .value_ps = static_cast<std::uint64_t>(time.ps)});
}

void Replies::NoteTold(SimTime time) {
  last_told_ = {.sequence = engine_->issued(),
                .host_clock = std::max(last_told_.host_clock, time),
                .waited = waited_};
}

}  // namespace eidolon::agent::session
