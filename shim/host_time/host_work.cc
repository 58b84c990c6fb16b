#include "shim/host_time/host_work.h"

namespace eidolon::shim::host_time {

std::uint64_t HostWork::Before(std::uint64_t call, std::uint64_t work_ps, bool switched,
                               double speed) noexcept {
  const bool disturbed = switched || since_switch_ps_ < kSettledPs;
  since_switch_ps_ = switched ? 0 : since_switch_ps_ + work_ps;
  const auto at_full_speed = static_cast<std::uint64_t>(static_cast<double>(work_ps) * speed);
  return costs_.Charge({.place = history_.PlaceBefore(call),
                        .coarse_place = history_.CoarsePlaceBefore(call),
                        .work_ps = at_full_speed,
                        .disturbed = disturbed});
}

void HostWork::After(std::uint64_t call, std::uint64_t detail, bool switched) noexcept {
  history_.Push(call, detail);
  if (switched) since_switch_ps_ = 0;
}

}  // namespace eidolon::shim::host_time
