// The rank clock: virtual time of this process. Grows only. It lives in this process's own memory;
// Cursors::clock_ps is its copy for the agent, which a stray pointer may overwrite.
//
// Three host models (architecture.md section 3). fixed: each exported call adds its class's cost,
// whatever thread makes it, and those of its operators. counted: the same with the costs of
// Python's functions, and with what a thread computes between two calls for far longer than these
// take (counted_work.h). measured: a thread adds what its own work since its last call costs on the
// target: CPU time without time spent in the shim, without this machine's noise, scaled to the
// target's processor (shim/program/host_time), and what the real driver takes for a call of its
// class; a thread that waited goes on from max(own, process). Only drivers (thread_role.h) move the
// clock.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"
#include "services/contract/ring/host_jitter.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/shared_host_costs.h"

namespace eidolon::shim::core {

// Host time of one call of the program.
struct Charge {
  base::SimTime began;  // Behind the program's own work, which led to the call.
  base::SimTime ended;
};
// Charges the calling thread for one call of a class. Called by CallScope.
Charge ChargeCall(const char* name, ring::CallClass call_class) noexcept;
// The call is over: what follows is the program's own time again. Called by CallScope.
void EndCall() noexcept;

// Notes the arguments of the call in progress, as far as they distinguish one place of the program
// from another.
void NoteCallDetail(std::uint64_t detail) noexcept;

// The calling thread keeps pinned memory. PyTorch gives a block of it back once its event has
// happened, and the thread that asks is whoever needs memory next. If that may be one that does not
// move the clock (a data loader's), how many queries are left to the others is a matter of real
// time: from its first allocation on they cost nothing in the fixed model.
void NotePinnedMemory() noexcept;
// The process has a communicator. PyTorch's process group lets go of collectives that have ended,
// and the thread that queries their events is its watchdog or whoever issues the next collective:
// how many queries are left to the latter is a matter of real time too.
void NoteCommunicator() noexcept;
// The calling thread's event query found nothing: the reading of the last error that follows such a
// query is a part of it.
void NoteFruitlessEventQuery() noexcept;

// The calling thread's view of virtual time, without charging a call: for clock reads. In the
// measured model this includes CPU time since the last call, in the counted one if it is long.
base::SimTime Now() noexcept;

// The rank clock as it stands, with nothing charged; where its parent's was in a fork.
std::int64_t ClockReading() noexcept;

// Raises the clock to `time` if it is later (a wait ended, a sleep passed).
void AdvanceTo(base::SimTime time) noexcept;
// Moves the clock on: a poll that found nothing takes time too.
void AdvanceBy(base::Duration duration) noexcept;

// The calling thread read the tick counter and got into the shim by that
// (shim/program/time/tick_clock.h): what such a detour takes is not the program's work.
void NoteTrap() noexcept;

// The calling thread waited in the operating system (condition variable, join, socket) until now:
// it goes on from where the process is, since what it waited for came first.
void NoteWaited() noexcept;
// The calling thread slept inside the shim: that real time is nobody's CPU time.
void NoteSleptInShim() noexcept;

// Returns what a record carries that is written now: never less than another one before. Called
// under the ring's lock.
std::uint64_t RecordClock() noexcept;
// Notes damage when the published clock is not what was published.
void CheckPublishedClock() noexcept;

// Place where the clock is published, and rules by which host work moves it. Called once, by the
// session.
struct ClockSource {
  ring::Cursors* cursors = nullptr;
  ring::HostModel model = ring::HostModel::kFixed;
  ring::HostCosts costs{};
  double target_speed = 1.0;  // The target's processor relative to that of host_speed/probe.h.
  double speed_ratio = 0;     // If above zero instead: relative to this machine's.
  std::uint64_t start_ps = 0;
  ring::HostJitter jitter{};
  // Rows that all processes of the server share, or null.
  ring::SharedHostCost* shared_costs = nullptr;
};
void StartClock(const ClockSource& source) noexcept;
// A fork has no clock of its own: it reads the job's.
void DetachClock() noexcept;

}  // namespace eidolon::shim::core
