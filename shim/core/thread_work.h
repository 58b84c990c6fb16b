// The processor time of this process's threads: which of it is the program's own work, without time
// in the shim and without pauses by the operating system, and what that costs on the target
// (shim/program/host_time). The rank clock (rank_clock.h) decides what of it counts.
//
// A thread's clock is its own; what StartToTimeWork sets is written once, before any thread asks.
#pragma once

#include <cstdint>

#include "services/contract/ring/shared_host_costs.h"
#include "shim/program/host_time/host_work.h"

namespace eidolon::shim::core {

struct ThreadClock {
  std::uint64_t last_ticks;    // End of the last call, or begin of the one in progress; 0: none.
  std::int64_t cpu_ns;         // Thread CPU time at the last reading.
  std::uint64_t accounted_ps;  // Already charged, or spent in the shim, since that reading.
  std::uint64_t own_ps;        // Where the thread is, in the measured host model.
  std::uint64_t call;          // The call in progress, and what is known of it.
  std::uint64_t call_detail;
  std::uint64_t next_speed_ticks;
  std::uint64_t page_faults;      // At the end of the last long stretch of work.
  std::uint64_t since_switch_ps;  // Work since the thread was off its core.
  host_time::HostWork* work;      // Made with the first measurement; the thread's owner has it.
  bool slept;
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadClock thread_clock;

struct WorkTiming {
  double target_speed = 1.0;  // The target's processor relative to that of host_speed/probe.h.
  double speed_ratio = 0;     // If above zero instead: relative to this machine's.
  ring::SharedHostCost* shared_costs = nullptr;  // Rows of all processes of the server, or null.
};
void StartToTimeWork(const WorkTiming& timing) noexcept;

namespace internal {
// Written once, before any thread asks.
struct TickScale {
  double ps_per_tick = 0;
  std::uint64_t short_gap_ticks = 0;  // A longer gap may hold a pause by the operating system.
};
extern constinit TickScale tick_scale;
std::uint64_t TakeLongGap(ThreadClock& clock, std::uint64_t gap) noexcept;
void EndLongCall(ThreadClock& clock, std::uint64_t ticks) noexcept;
}  // namespace internal

inline std::uint64_t TicksToPs(std::uint64_t ticks) noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) * internal::tick_scale.ps_per_tick);
}

// The thread's first call.
void BeginToTime(ThreadClock& clock, std::uint64_t ticks, std::uint64_t now_ps) noexcept;
// CPU picoseconds of the calling thread since its last call or clock read.
inline std::uint64_t TakeOwnWork(ThreadClock& clock, std::uint64_t ticks) noexcept {
  const std::uint64_t gap = ticks - clock.last_ticks;
  if (gap >= internal::tick_scale.short_gap_ticks) return internal::TakeLongGap(clock, gap);
  const std::uint64_t ps = TicksToPs(gap);
  clock.accounted_ps += ps;
  return ps;
}
// Returns what page faults took of a long stretch of the calling thread that ends now; those of the
// short ones before it are among them. At most half of it, whatever a fault costs in the mean.
std::uint64_t TakePageFaults(ThreadClock& clock, std::uint64_t work_ps) noexcept;
// The call is over: what follows is the program's own time again.
inline void EndCallAt(ThreadClock& clock, std::uint64_t ticks) noexcept {
  const std::uint64_t length = ticks - clock.last_ticks;
  if (clock.slept || length >= internal::tick_scale.short_gap_ticks) {
    internal::EndLongCall(clock, ticks);
  } else {
    clock.accounted_ps += TicksToPs(length);
  }
  clock.last_ticks = ticks;
  if (clock.work != nullptr) clock.work->After(clock.call, clock.call_detail);
}
// The calling thread got into the shim by a trap: what that takes is not the program's work.
void LeaveOutTrap(ThreadClock& clock, std::uint64_t ticks) noexcept;

// Times how fast the core is, if that is due. What it takes is nobody's work.
void SampleSpeed(ThreadClock& clock, std::uint64_t ticks) noexcept;
// By which of services/base/host_speed's works the core's speed is told: what a framework does
// between two calls, or arithmetic in a small code.
enum class CodeKind : std::uint8_t { kBetweenCalls, kArithmetic };
// Returns what `work_ps` of processor time now take on the target, as they are.
double OnTarget(CodeKind code, std::uint64_t work_ps) noexcept;
// Returns what `work_ps` of the calling thread, which makes `call` now, costs on the target,
// without this machine's noise.
std::uint64_t CostOfWork(const ThreadClock& clock, CodeKind code, std::uint64_t work_ps,
                         std::uint64_t fault_ps, std::uint64_t call) noexcept;

}  // namespace eidolon::shim::core
