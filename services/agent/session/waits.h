// Questions of one process about time: has this work ended, when does it end, how long did it take,
// wake me at that moment. Each is answered at once, or kept until the engine or the network knows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "services/agent/device/engine.h"
#include "services/agent/session/applied.h"
#include "services/agent/session/replies.h"
#include "services/agent/session/session_host.h"
#include "services/agent/timeline/recorder.h"
#include "services/base/sim_time.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::session {

// Each kept question is in one of three places: tickets of the engine, moments that the network
// must pass, sleepers of a process that drives nothing. Owned by its session. Main loop only.
class Waits {
 public:
  using Record = ::eidolon::ring::WaitRecord;
  // All outlive it.
  Waits(SessionHost* host, device::Engine* engine, Replies* replies)
      : host_(host), engine_(engine), replies_(replies) {}

  // The program's waits are noted there from now on; it outlives this.
  void ShowOn(timeline::Recorder* timeline) { timeline_ = timeline; }

  // The question in this slot is asked at that line of the program.
  void NoteLine(std::uint32_t slot, std::uint32_t line) { lines_[slot] = line; }

  // A stream, a device or an event: the thread continues when its work has ended.
  ApplyResult AskCompletion(const Record& record);
  // The same, without waiting for the work.
  ApplyResult AskQuery(const Record& record);
  // Asks for the time from one event to another.
  ApplyResult AskElapsed(const Record& record);
  // A thread sleeps, or reads the sensors of a GPU. `driving`: its process bounds the server's
  // clock; else it sleeps in real time.
  void AskMoment(const Record& record, bool driving);

  // From inside the engine: the ticket's work ends at `time`. Settle answers it later.
  void NoteEnded(std::uint64_t ticket, base::SimTime time) { ended_.emplace_back(ticket, time); }
  // Answers what the engine has told of while it was at work.
  void Settle();
  // The horizon hears how long open waits last at least, as far as that is known by now.
  void RaiseBounds();
  // The network's safe time has grown.
  void AnswerMoments(bool driving);
  // Returns when the earliest query asks about, of those that no one can decide yet.
  std::optional<base::SimTime> EarliestQuery() const;
  // Tells those who ask about that moment or an earlier one that their work is not known to have
  // ended.
  void AnswerUndecided(base::SimTime asked);
  // Call often.
  void WakeSleepers();

  // Tells everybody that the job is ending.
  void Dismiss();
  // The process is gone: nobody waits any more.
  void Forget();

 private:
  struct OpenWait {
    Record record;
    std::uint64_t node = 0;  // What it waits for, of the engine; 0: not to be asked about.
  };
  struct Sleeper {
    std::uint32_t slot = 0;
    base::SimTime moment;
    std::int64_t until_ns = 0;
  };

  void AnswerSensors(const Record& record, std::optional<base::SimTime> time);
  // For the timeline: the thread will continue at `time`.
  void Show(const Record& record, base::SimTime time);
  base::Result<device::Engine::Completion> EndOf(const Record& record,
                                                 std::optional<std::uint64_t> ticket);

  SessionHost* host_;
  device::Engine* engine_;
  Replies* replies_;
  timeline::Recorder* timeline_ = nullptr;
  std::array<std::uint32_t, ::eidolon::ring::kReplySlots> lines_{};  // By slot.
  std::map<std::uint64_t, OpenWait> open_;                           // By ticket.
  std::uint64_t next_ticket_ = 1;
  std::vector<std::pair<std::uint64_t, base::SimTime>> ended_;
  std::map<std::uint32_t, Record> moments_;  // Queries, kSensors and kWaitUntil, by slot.
  std::vector<Sleeper> sleepers_;
};

}  // namespace eidolon::agent::session
