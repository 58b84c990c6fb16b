// The timers of a rank that has begun: setitimer(ITIMER_REAL), alarm, timer_settime and
// timerfd_settime count virtual time. The kernel's own timer stands still meanwhile; when virtual
// time reaches the moment, it is armed to expire at once, so signals and descriptors are the
// kernel's.
//
// A driver's timer carries the clock to its moment when nothing else happens. A timer also expires
// when the program works on and its clock stands still for as much real time as is left, or loops
// that wait for a signal without a call would never end. A driver's timer needs at least some
// seconds, in which the process uses as much processor time: one that a busy machine keeps from
// running has not done the work that its timer limits.
//
// All functions are thread safe. MomentKeeper's thread calls FireDueTimers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "services/base/sim_time.h"

namespace eidolon::shim::time {

enum class TimerKind : std::uint8_t { kInterval, kPosix, kDescriptor };

// Identifies a timer of its kind: 0, a timer_t, a descriptor.
struct TimerName {
  TimerKind kind = TimerKind::kInterval;
  std::uintptr_t id = 0;
  bool operator==(const TimerName&) const = default;
};

struct TimerSetting {
  base::SimTime deadline;
  base::Duration interval;  // Zero: it expires once.
};

// Values that the program reads: the rest, and the interval.
struct TimerRest {
  base::Duration left;
  base::Duration interval;
};

// False when there is no room; the kernel's timer then counts real time.
bool ArmTimer(TimerName name, const TimerSetting& setting) noexcept;
void DisarmTimer(TimerName name) noexcept;
// Nothing when the timer is not armed here.
std::optional<TimerRest> ReadTimer(TimerName name) noexcept;

bool HasTimers() noexcept;
// The earliest moment of a driver's timer, and since when (real nanoseconds) it is waited for.
struct NextTimer {
  base::SimTime deadline;
  std::int64_t since_ns = 0;
};
std::optional<NextTimer> NextDriverTimer() noexcept;
// Lets those expire whose moment has come.
// Answers whether SIGALRM was sent to this process.
bool FireDueTimers() noexcept;
// Arms the kernel's timer to expire now.
void ExpireAtOnce(TimerName name) noexcept;
// A fork has no timers.
void ForgetTimers() noexcept;

}  // namespace eidolon::shim::time
