// The kernel delivers everything about an expiry (the signal, its thread, a readable descriptor),
// so a virtual timer only decides the moment and then arms the kernel's timer for the next instant.
// Deadlines are program time in picoseconds. A driver's timer is one that a driver has armed: it
// pulls the clock to its moment (moment_keeper.cc), while those of helpers wait for the clock to
// come by.
//
// HasStalled keeps programs alive that spin until a signal comes: their clock stands still, so
// after as much real time as was left the timer expires anyway. For a driver that real time must
// have been work, or a busy machine would let timeouts expire that a GPU server would not.
//
// Programs arm timers in signal handlers too, so signals are blocked while the lock is held. The
// kernel's timer is armed outside of the lock: its signal may run a handler in this very thread
// that arms a timer again.
#include "shim/program/time/virtual_timers.h"

#include <errno.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "shim/core/session.h"
#include "shim/core/spin_lock.h"
#include "shim/core/system.h"
#include "shim/core/thread_role.h"
#include "shim/program/time/masked_lock.h"
#include "shim/program/time/real.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {
namespace {

using base::Duration;
using base::SimTime;

// A driver's timer does not expire sooner for want of virtual time.
constexpr std::int64_t kShortestStallNs = 5'000'000'000;
// A program that gets less than this part of a processor waits for its turn at times. Its timers
// wait with it.
constexpr std::int64_t kStarvedShare = 12;

struct Timer {
  TimerName name;
  bool armed = false;
  bool is_drivers = false;
  SimTime deadline;
  Duration interval;
  std::int64_t since_ns = 0;  // Real time of its arming, or last expiry.
  SimTime clock;              // When it was looked at last, and since when it has stood there.
  std::int64_t still_since_ns = 0;
  std::int64_t still_since_cpu_ns = 0;  // Processor time of the process at that moment.
};

constinit core::SpinLock lock;  // Guards the table.
constinit std::array<Timer, 64> timers{};

Timer* Find(TimerName name) noexcept {
  const auto found = std::find_if(timers.begin(), timers.end(), [&](const Timer& timer) {
    return timer.armed && timer.name == name;
  });
  return found == timers.end() ? nullptr : &*found;
}

Timer* FindFree() noexcept {
  const auto found =
      std::find_if(timers.begin(), timers.end(), [](const Timer& timer) { return !timer.armed; });
  return found == timers.end() ? nullptr : &*found;
}

// The program works, but its clock stands still. For a driver's timer the program's own work
// counts: on a busy machine, seconds may pass in which it could do nothing.
bool HasStalled(Timer& timer, SimTime now, std::int64_t real_ns) noexcept {
  if (timer.clock != now || core::Session::ThreadsAsking() != 0) {
    timer.clock = now;
    timer.still_since_ns = real_ns;
    timer.still_since_cpu_ns = core::ProcessCpuNs();
    return false;
  }
  const std::int64_t left_ns = (timer.deadline - now).ps / 1000;
  const std::int64_t limit = timer.is_drivers ? std::max(left_ns, kShortestStallNs) : left_ns;
  const std::int64_t stood_ns = real_ns - timer.still_since_ns;
  if (stood_ns < limit || !timer.is_drivers) return stood_ns >= limit;
  const std::int64_t worked_ns = core::ProcessCpuNs() - timer.still_since_cpu_ns;
  return std::max(worked_ns, stood_ns / kStarvedShare) >= limit;
}

}  // namespace

bool ArmTimer(TimerName name, const TimerSetting& setting) noexcept {
  const std::int64_t real_ns = real::MonotonicNs();
  const SimTime now = ProgramTime();
  const bool is_drivers = core::CurrentRole() == core::ThreadRole::kDriver;
  const MaskedLock guard(lock);
  Timer* timer = Find(name);
  if (timer == nullptr) timer = FindFree();
  if (timer == nullptr) return false;
  *timer = {.name = name,
            .armed = true,
            .is_drivers = is_drivers,
            .deadline = setting.deadline,
            .interval = setting.interval,
            .since_ns = real_ns,
            .clock = now,
            .still_since_ns = real_ns,
            .still_since_cpu_ns = core::ProcessCpuNs()};
  return true;
}

void DisarmTimer(TimerName name) noexcept {
  const MaskedLock guard(lock);
  if (Timer* timer = Find(name)) timer->armed = false;
}

std::optional<TimerRest> ReadTimer(TimerName name) noexcept {
  const SimTime now = ProgramTime();
  const MaskedLock guard(lock);
  const Timer* timer = Find(name);
  if (timer == nullptr) return std::nullopt;
  // What is due expires in a moment: until then it is armed.
  return TimerRest{.left = std::max(timer->deadline - now, Duration::Nanoseconds(1000)),
                   .interval = timer->interval};
}

bool HasTimers() noexcept {
  const MaskedLock guard(lock);
  return std::any_of(timers.begin(), timers.end(), [](const Timer& timer) { return timer.armed; });
}

std::optional<NextTimer> NextDriverTimer() noexcept {
  const MaskedLock guard(lock);
  std::optional<NextTimer> next;
  for (const Timer& timer : timers) {
    if (!timer.armed || !timer.is_drivers || IsBeyondEnd(timer.deadline)) continue;
    if (!next || timer.deadline < next->deadline) next = {timer.deadline, timer.since_ns};
  }
  return next;
}

bool FireDueTimers() noexcept {
  const SimTime now = ProgramTime();
  const std::int64_t real_ns = real::MonotonicNs();
  std::array<TimerName, timers.size()> due;
  std::size_t count = 0;
  SimTime reached;
  {
    const MaskedLock guard(lock);
    for (Timer& timer : timers) {
      if (!timer.armed || IsBeyondEnd(timer.deadline)) continue;
      const bool stalled = now < timer.deadline && HasStalled(timer, now, real_ns);
      if (now < timer.deadline && !stalled) continue;
      if (stalled && timer.is_drivers) reached = std::max(reached, timer.deadline);
      due[count++] = timer.name;
      timer.armed = timer.interval.ps > 0;
      timer.since_ns = real_ns;
      const SimTime from = std::max(now, timer.deadline);
      const std::int64_t past = timer.armed ? (from - timer.deadline).ps / timer.interval.ps : 0;
      if (timer.armed) timer.deadline += timer.interval * (past + 1);
    }
  }
  if (reached > now) CarryTo(reached);
  for (std::size_t i = 0; i < count; ++i) ExpireAtOnce(due[i]);
  return std::any_of(due.begin(), due.begin() + static_cast<std::ptrdiff_t>(count),
                     [](TimerName name) { return name.kind == TimerKind::kInterval; });
}

void ExpireAtOnce(TimerName name) noexcept {
  const int kept = errno;
  const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
  switch (name.kind) {
    case TimerKind::kInterval: {
      const itimerval soonest{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1}};
      real::Setitimer(ITIMER_REAL, &soonest, nullptr);
      break;
    }
    case TimerKind::kPosix:
      real::TimerSettime(reinterpret_cast<timer_t>(name.id), 0, &soon, nullptr);
      break;
    case TimerKind::kDescriptor:
      real::TimerfdSettime(static_cast<int>(name.id), 0, &soon, nullptr);
      break;
  }
  errno = kept;
}

void ForgetTimers() noexcept {
  std::construct_at(&lock);  // Nobody else is left to hold it.
  for (Timer& timer : timers) timer.armed = false;
}

}  // namespace eidolon::shim::time
