#include "shim/core/counted_work.h"

namespace eidolon::shim::core::internal {

std::uint64_t CostOfLongWork(ThreadClock& clock, std::uint64_t work, std::uint64_t counted_ps,
                             std::uint64_t call) noexcept {
  SampleSpeed(clock, clock.last_ticks);
  // Whether an allocator takes memory from the kernel anew differs from run to run and ends as a
  // program goes on.
  const std::uint64_t without_faults = work - TakePageFaults(clock, work);
  const double taken = OnTarget(CodeKind::kArithmetic, without_faults);
  if (taken < kBeyondCountedTimes * counted_ps + kBeyondCountedPs) return counted_ps;
  if (!clock.work->IsRare(call)) {
    return CostOfWork(clock, CodeKind::kArithmetic, without_faults, 0, call);
  }
  return taken < kInterruptionPs ? counted_ps : static_cast<std::uint64_t>(taken);
}

}  // namespace eidolon::shim::core::internal
