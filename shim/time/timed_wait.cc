#include "shim/time/timed_wait.h"

#include <algorithm>

#include "shim/core/rank_clock.h"
#include "shim/time/real.h"
#include "shim/time/virtual_clock.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSliceNs = 20'000'000;
// Virtual time may have passed the deadline at once; the event still gets this much real time to
// come.
constexpr std::int64_t kGraceNs = 1'000'000;

struct LastWait {
  const void* object = nullptr;
  base::SimTime deadline;
  base::Duration length;
  std::int64_t started_real_ns = 0;
};

LastWait& Last() noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local LastWait last;
  return last;
}

}  // namespace

TimedWait::TimedWait(const void* object, base::SimTime deadline) noexcept : deadline_(deadline) {
  LastWait& last = Last();
  if (last.object != object || last.deadline != deadline) {
    const base::Duration length = std::max(deadline - OwnNow(), base::Duration{});
    last = {object, deadline, length, real::MonotonicNs()};
  }
  length_ = last.length;
  started_real_ns_ = last.started_real_ns;
  budget_real_ns_ = length_.ps / 1000;
}

std::int64_t TimedWait::SliceNs() const noexcept {
  const std::int64_t left = started_real_ns_ + budget_real_ns_ - real::MonotonicNs();
  return std::clamp<std::int64_t>(left, 0, kSliceNs);
}

bool TimedWait::IsOver() const noexcept {
  const std::int64_t elapsed = real::MonotonicNs() - started_real_ns_;
  if (elapsed >= budget_real_ns_) return true;
  return elapsed >= kGraceNs && OwnNow() >= deadline_;
}

bool TimedWait::Expired() noexcept {
  if (!IsOver()) return false;
  WaitExpired(deadline_);
  Ended();
  return true;
}

bool TimedWait::ExpiredAsYield() noexcept {
  if (!IsOver()) return false;
  Ended();
  return true;
}

void TimedWait::Ended() noexcept {
  Last().object = nullptr;
  core::NoteWaited();
}

}  // namespace eidolon::shim::time
