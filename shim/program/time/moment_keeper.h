// Keeps what a rank waits for besides threads that ask the agent themselves: its timers, and the
// timed waits of its drivers, which something in the process or outside may end as well. A thread
// of ours, made when it is first needed, tells the agent the earliest of these moments
// (virtual_sleep.h) and moves the clock there when the agent says that it has passed.
//
// Thread safe. The thread blocks all signals and lives as long as the process; a fork has none.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "shim/program/time/virtual_timers.h"

namespace eidolon::shim::time {

// The calling driver waits until `deadline`. Good for a moment: a wait says so again and again
// while it lasts, because a condition's wait returns to the program between two slices, which may
// never come back.
void KeepWaiting(base::SimTime deadline) noexcept;
// It waits no longer.
void StopWaiting() noexcept;

// A timer of virtual_timers.h was armed.
void KeepTimers() noexcept;

// In a process without a clock, the kernel's timer was armed to expire once, after `ns`. What a
// rank has started may sleep through less real time than that ("timeout 5 sleep 60"): then the
// timer expires sooner too. Of several, the one that is armed last.
void KeepRealTimer(TimerName name, std::int64_t ns) noexcept;
void ForgetRealTimer(TimerName name) noexcept;

}  // namespace eidolon::shim::time
