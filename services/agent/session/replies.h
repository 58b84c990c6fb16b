// The answers that threads of one process wait for in their reply slots. An answer ends the wait on
// the server's horizon, frees the slot for the next question, and only then reaches the thread.
#pragma once

#include <array>
#include <cstdint>

#include "services/agent/device/engine.h"
#include "services/agent/iteration/ledger.h"
#include "services/agent/recording/recorder.h"
#include "services/agent/ring/segment.h"
#include "services/agent/session/intake.h"
#include "services/agent/session/session_host.h"
#include "services/base/sim_time.h"
#include "services/contract/ring/layout.h"

namespace eidolon::agent::session {

// Owned by its session, and owns none of what it is made of. Main loop only.
class Replies {
 public:
  Replies(std::uint32_t process, SessionHost* host, const device::Engine* engine, Intake* intake,
          ring::Segment* segment)
      : process_(process), host_(host), engine_(engine), intake_(intake), segment_(segment) {}

  // Answers are kept there from now on; it outlives this.
  void RecordOn(recording::Recorder* recorder) { recorder_ = recorder; }

  // The thread in `slot` waits, for what only the network can tell and will not before a time, or
  // for a moment.
  void AwaitNetwork(std::uint32_t slot, base::SimTime not_before);
  void RaiseAwaited(std::uint32_t slot, base::SimTime not_before);
  void AwaitMoment(std::uint32_t slot, base::SimTime moment);
  // The same for values of a call, which others have to give.
  void AwaitValues(std::uint32_t slot);

  // The thread in `slot` asks, at that moment of the rank's clock.
  void NoteAsked(std::uint32_t slot, base::SimTime asked);

  // Each of these ends the slot's wait.
  void Send(std::uint32_t slot, const ring::Reply& reply);
  // A sleep ends at `moment`. It counts as a wait, not as host work.
  void SendMoment(std::uint32_t slot, base::SimTime moment);
  // The program learns that time has come to `time`.
  void SendTime(std::uint32_t slot, base::SimTime time);

  // The program learns of a moment by an answer that says more than it.
  void NoteTold(base::SimTime time);
  // The latest moment that the program was told of, and the operation that it issues next after the
  // answer which was sent last.
  const iteration::Mark& last_told() const { return last_told_; }
  // Returns by how much answers have moved the clock beyond what the program's own work did.
  base::Duration waited() const { return waited_; }

 private:
  void NoteWaitUntil(std::uint32_t slot, base::SimTime time);

  std::uint32_t process_;
  SessionHost* host_;
  const device::Engine* engine_;
  Intake* intake_;
  ring::Segment* segment_;
  recording::Recorder* recorder_ = nullptr;
  iteration::Mark last_told_;
  std::array<base::SimTime, ::eidolon::ring::kReplySlots> asked_{};  // By slot.
  base::SimTime waited_until_;
  base::Duration waited_;
};

}  // namespace eidolon::agent::session
