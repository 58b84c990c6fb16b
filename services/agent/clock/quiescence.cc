#include "services/agent/clock/quiescence.h"

#include <algorithm>

namespace eidolon::agent::clock {

void Quiescence::NoteActivity(std::int64_t now_ns) {
  asleep_looks_ = 0;
  pause_ns_ = kFirstLookNs;
  next_look_ns_ = now_ns + kFirstLookNs;
}

bool Quiescence::Poll(std::int64_t now_ns) {
  if (now_ns < next_look_ns_) return asleep_looks_ >= 2;
  if (!all_sleep_()) {
    asleep_looks_ = 0;
    next_look_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
    return false;
  }
  asleep_looks_ = std::min(asleep_looks_ + 1, 2);
  if (asleep_looks_ < 2) {
    pause_ns_ = kFirstLookNs;
    next_look_ns_ = now_ns + kSecondLookNs;
  } else {
    next_look_ns_ = now_ns + pause_ns_;
    pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
  }
  return asleep_looks_ >= 2;
}

}  // namespace eidolon::agent::clock
