// What a program does between its calls in the counted host model: its operators and Python
// functions at their costs, and processor time where these cannot be all of it.
//
// Short work (below a millisecond) is what is counted of it, so that a prediction does not depend
// on the machine that computes it. Long work that operators and functions do not explain costs the
// time it takes: numbers drawn on the host, a library's arithmetic, compilation.
#pragma once

#include <cstdint>

#include "shim/core/thread_work.h"

namespace eidolon::shim::core {

// From this length on, work may cost what it takes; if it takes so many times as long as is
// counted. Work whose caches are cold after a switch takes up to three times as long.
inline constexpr std::uint64_t kBeyondCountedPs = 1'000'000'000;
inline constexpr std::uint64_t kBeyondCountedTimes = 4;
// An interruption shorter than this (a garbage collection of few objects) may happen in one run and
// not in the next.
inline constexpr double kInterruptionPs = 20e9;

namespace internal {
std::uint64_t CostOfLongWork(ThreadClock& clock, std::uint64_t work, std::uint64_t counted_ps,
                             std::uint64_t call) noexcept;
}  // namespace internal

// The cost of the calling thread's work since its last call, of which `counted_ps` are counted, on
// the target. The thread makes `call` at `ticks`, and its clock has begun.
inline std::uint64_t CostOfCountedWork(ThreadClock& clock, std::uint64_t ticks,
                                       std::uint64_t counted_ps, std::uint64_t call) noexcept {
  const std::uint64_t work = TakeOwnWork(clock, ticks);
  clock.since_switch_ps += work;
  clock.last_ticks = ticks;
  if (clock.work == nullptr) return counted_ps;
  if (work >= kBeyondCountedPs) return internal::CostOfLongWork(clock, work, counted_ps, call);
  clock.work->NoteShort(call);
  return counted_ps;
}

}  // namespace eidolon::shim::core
