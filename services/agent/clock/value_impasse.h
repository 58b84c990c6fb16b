// Decides when a question that has no answer yet is answered with "not ready".
//
// A rank that is behind in its own time waits, within the emulation, for values that another rank
// puts into a call, and that rank asks whether work has ended at a later time, which depends on
// what the first will still do. Both wait for each other, although neither of the programs does. A
// query need not say more than that the work is not known to have ended: the rank that asked goes
// on, and no clock is moved for it. Whether nothing moves is seen in real time, though, and with
// several servers what comes may come from one that still works: only the measured host model,
// which promises no bit-identical runs, allows such answers, and only a job of one server. A
// program that asks on and on is not answered so for ever: then the whole job sleeps, and the
// network decides (Horizon::PassOverValueWaits).
#pragma once

#include <cstdint>

#include "services/agent/clock/horizon.h"

namespace eidolon::agent::clock {

// Impasse of one server. Not thread safe. Times are monotonic nanoseconds.
class ValueImpasse {
 public:
  // So long nothing moves before a question is answered: messages may be on their way.
  static constexpr std::int64_t kStillNs = 500'000;
  // Limit of answers without a value.
  static constexpr int kMostAnswers = 256;

  // From now on questions may be answered so.
  void Allow() { is_allowed_ = true; }

  // A record, reply or message moved.
  void NoteActivity(std::int64_t now_ns) { active_ns_ = now_ns; }
  // Values of a call have come.
  void NoteValues() { answers_ = 0; }

  // True when the earliest question, if there is one, is to be answered now.
  bool IsToBeBroken(std::int64_t now_ns, const Horizon& horizon) const {
    return is_allowed_ && now_ns >= active_ns_ + kStillNs && answers_ < kMostAnswers &&
           horizon.StandsForValues();
  }
  // It was answered.
  void NoteAnswer() { ++answers_; }

 private:
  bool is_allowed_ = false;
  std::int64_t active_ns_ = 0;
  int answers_ = 0;
};

}  // namespace eidolon::agent::clock
