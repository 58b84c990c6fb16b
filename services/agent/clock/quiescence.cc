#include "services/agent/clock/quiescence.h"

#include <algorithm>

namespace eidolon::agent::clock {

void Quiescence::NoteActivity(std::int64_t now_ns) {
  constexpr int kMost = 5;
  if (still_looks_ >= 2) {
    vain_looks_ = 0;
  } else if (has_looked_) {
    vain_looks_ = std::min(vain_looks_ + 1, kMost);
  }
  still_looks_ = 0;
  active_ns_ = now_ns;
  has_looked_ = false;
  pause_ns_ = FirstPauseNs();
  next_look_ns_ = now_ns + pause_ns_;
}

bool Quiescence::Poll(std::int64_t now_ns, bool everyone_asks) {
  if (!Judge(now_ns, everyone_asks)) return false;
  if (!has_news_()) return true;
  NoteActivity(now_ns);
  return false;
}

bool Quiescence::Judge(std::int64_t now_ns, bool everyone_asks) {
  const bool claimed = still_looks_ >= 2;
  const bool is_early = everyone_asks && !has_looked_ && now_ns >= active_ns_ + kEarlyLookNs;
  if (now_ns < next_look_ns_ && !is_early) return claimed;
  has_looked_ = true;
  const std::int64_t before_ns = spent_ns_();
  const Look look = look_();
  last_look_ns_ = spent_ns_() - before_ns;
  if (look == Look::kStill && !claimed) {
    pause_ns_ = FirstPauseNs();
    next_look_ns_ = now_ns + (++still_looks_ < 2 ? kSecondLookNs : pause_ns_);
    return still_looks_ >= 2;
  }
  if (look == Look::kWorking || !claimed) still_looks_ = 0;
  // A rank that waits in slices has a turn in every long pause; between two short looks it rests.
  looked_again_ = look == Look::kPolling && !claimed && !looked_again_;
  if (looked_again_) {
    next_look_ns_ = now_ns + kSecondLookNs;
    return false;
  }
  next_look_ns_ = now_ns + pause_ns_;
  pause_ns_ = std::min(2 * pause_ns_, kLongestPauseNs);
  return still_looks_ >= 2;
}

}  // namespace eidolon::agent::clock
