// The wait is cut into slices because no primitive of the operating system can wait for an event
// and for virtual time at once. Each slice ends with the question whether the wait is over, and the
// length of slices trades the delay of an expiry for processor time that the ranks need. State
// lives in the thread and not in the object: a program that is woken spuriously builds a new wait
// for the same deadline, and must not get a new budget of real time. It belongs to the thread's
// last wait only, identified by object and deadline.
//
// Times that end in `ns` are real, SimTime and Duration are virtual. Only Expired moves a driver's
// clock to the deadline.
#include "shim/program/time/timed_wait.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "shim/core/rank_clock.h"
#include "shim/core/simulation_work.h"
#include "shim/core/system.h"
#include "shim/program/time/moment_keeper.h"
#include "shim/program/time/process_rest.h"
#include "shim/program/time/real.h"
#include "shim/program/time/virtual_clock.h"
#include "shim/program/time/virtual_sleep.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kSliceNs = 20'000'000;
constexpr std::int64_t kLongWaitNs = 200'000'000;
constexpr std::int64_t kLongWaitsSliceNs = 50'000'000;
// Others than drivers look less often, by the pace of virtual time, but at least so often.
constexpr std::int64_t kLongestSliceNs = 400'000'000;
// Virtual time may have passed the deadline at once; the event still gets this much real time to
// come.
constexpr std::int64_t kGraceNs = 1'000'000;

// A driver's timeout expires in real time only while nobody in its process is at work, or waits for
// the simulation. At last it must, or a thread that never rests would make it last for ever; in a
// process where that has happened, later ones come soon.
constexpr std::int64_t kLookSliceNs = 5'000'000;
constexpr std::int64_t kWorkNs = 30'000'000'000;
constexpr std::int64_t kRestlessNs = 1'000'000'000;
constinit std::atomic<bool> never_rests{false};

struct LastWait {
  const void* object = nullptr;
  base::SimTime deadline;
  base::Duration length;
  std::int64_t started_real_ns = 0;
  std::int64_t started_cpu_ns = 0;  // Of the process.
  base::SimTime started;            // By the thread's clocks.
  double pace = 1;                  // Virtual time in a unit of real time, of its last wait.
  ProcessActivity activity{};       // Since the budget is used up.
};

LastWait& Last() noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local LastWait last;
  return last;
}

}  // namespace

TimedWait::TimedWait(const void* object, base::SimTime deadline) noexcept : deadline_(deadline) {
  LastWait& last = Last();
  if (last.object != object || last.deadline != deadline) {
    const base::SimTime now = OwnNow();
    const base::Duration length = std::max(deadline - now, base::Duration{});
    last = {.object = object,
            .deadline = deadline,
            .length = length,
            .started_real_ns = real::MonotonicNs(),
            .started_cpu_ns = core::ProcessCpuNs(),
            .started = now,
            .pace = last.pace};
  }
  length_ = last.length;
  started_real_ns_ = last.started_real_ns;
  budget_real_ns_ = length_.ps / 1000;
}

std::int64_t TimedWait::SliceNs() const noexcept {
  const std::int64_t elapsed = real::MonotonicNs() - started_real_ns_;
  const std::int64_t left = budget_real_ns_ - elapsed;
  // The wait is beyond its budget, between two looks at the process.
  if (left <= 0 && Last().activity.taken_ns != 0) return kLookSliceNs;
  const std::int64_t slice = elapsed < kLongWaitNs ? kSliceNs : kLongWaitsSliceNs;
  return std::clamp<std::int64_t>(left, 0, std::max(slice, PacedSliceNs()));
}

// For a thread that no clock waits for: until virtual time is at the deadline, if it goes on at the
// pace of the thread's last waits. Every look takes a processor from the ranks.
std::int64_t TimedWait::PacedSliceNs() const noexcept {
  if (IsDriving() || IsBeyondEnd(deadline_)) return 0;
  const auto left = static_cast<double>(std::max(deadline_ - OwnNow(), base::Duration{}).ps) / 1000;
  const double slice = left / std::max(Last().pace, 1e-9);
  return static_cast<std::int64_t>(std::clamp(slice, 0.0, static_cast<double>(kLongestSliceNs)));
}

// Nobody in this process is about to bring what the thread waits for, nor has been at work for as
// long as it waits. Requires: the budget is used up.
bool TimedWait::NobodyWorks(std::int64_t now_ns) noexcept {
  if (!IsDriving()) return true;
  const bool restless = never_rests.load(std::memory_order_relaxed);
  const std::int64_t patience_ns = restless ? kRestlessNs : kWorkNs;
  if (now_ns - started_real_ns_ >= budget_real_ns_ + patience_ns) {
    never_rests.store(true, std::memory_order_relaxed);
    return true;
  }
  LastWait& last = Last();
  if (core::SimulationIsAtWork()) {
    last.activity = {.taken_ns = now_ns};
    return false;
  }
  if (!IsFixedModel() && core::ProcessCpuNs() - last.started_cpu_ns >= budget_real_ns_) return true;
  const ProcessActivity now = LookAtProcess(now_ns);
  return Rests(std::exchange(last.activity, now), now);
}

void TimedWait::NotePace(std::int64_t elapsed_ns) noexcept {
  constexpr std::int64_t kLeastNs = 1'000'000;
  if (elapsed_ns < kLeastNs) return;
  LastWait& last = Last();
  last.pace =
      static_cast<double>((OwnNow() - last.started).ps) / 1000 / static_cast<double>(elapsed_ns);
}

bool TimedWait::IsOver() noexcept {
  if (IsBeyondEnd(deadline_)) return false;
  const std::int64_t now_ns = real::MonotonicNs();
  const std::int64_t elapsed = now_ns - started_real_ns_;
  NotePace(elapsed);
  if (FollowsReceivedTime()) {
    if (elapsed >= std::min(budget_real_ns_, kGraceNs) && JobHasReached(deadline_)) return true;
    return elapsed >= budget_real_ns_ && NothingHappensBefore(deadline_);
  }
  if (elapsed >= budget_real_ns_ && NobodyWorks(now_ns)) return true;
  if (elapsed >= kGraceNs && OwnNow() >= deadline_) return true;
  // The agent lets the moment pass only when everybody in the job rests.
  if (elapsed >= kSliceNs && IsDriving()) KeepWaiting(deadline_);
  return false;
}

bool TimedWait::Expired() noexcept {
  if (!IsOver()) return false;
  WaitExpired(deadline_);
  Ended();
  return true;
}

bool TimedWait::ExpiredAsYield() noexcept {
  if (real::MonotonicNs() - started_real_ns_ < budget_real_ns_ && !IsOver()) return false;
  Ended();
  return true;
}

void TimedWait::Ended() noexcept {
  Last().object = nullptr;
  StopWaiting();
  core::NoteWaited();
  ApplyReceivedTime();
}

}  // namespace eidolon::shim::time
