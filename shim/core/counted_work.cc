#include "shim/core/counted_work.h"

namespace eidolon::shim::core {

std::uint64_t CostOfCountedWork(ThreadClock& clock, std::uint64_t ticks, std::uint64_t counted_ps,
                                std::uint64_t call) noexcept {
  const std::uint64_t work = TakeOwnWork(clock, ticks);
  clock.since_switch_ps += work;
  clock.last_ticks = ticks;
  if (work < kBeyondCountedPs || clock.work == nullptr) {
    if (clock.work != nullptr) clock.work->NoteShort(call);
    return counted_ps;
  }
  SampleSpeed(clock, ticks);
  // Whether an allocator takes memory from the kernel anew differs from run to run and ends as a
  // program goes on.
  const std::uint64_t without_faults = work - TakePageFaults(clock, work);
  const double taken = OnTarget(without_faults);
  if (taken < kBeyondCountedTimes * counted_ps + kBeyondCountedPs) return counted_ps;
  if (!clock.work->IsRare(call)) return CostOfWork(clock, without_faults, 0, call);
  return taken < kInterruptionPs ? counted_ps : static_cast<std::uint64_t>(taken);
}

}  // namespace eidolon::shim::core
