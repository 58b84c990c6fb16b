#include "shim/program/host_time/host_work.h"

namespace eidolon::shim::host_time {

std::uint64_t HostWork::Before(std::uint64_t call, const Stretch& stretch, double speed) noexcept {
  const auto at_full_speed = [speed](std::uint64_t ps) {
    return static_cast<std::uint64_t>(static_cast<double>(ps) * speed);
  };
  const std::uint64_t work_ps = at_full_speed(stretch.work_ps);
  const std::uint64_t since_switch_ps = at_full_speed(stretch.since_switch_ps);
  const GapCosts::Charged charged =
      costs_.Charge({.place = history_.PlaceBefore(call),
                     .near_place = history_.NearPlaceBefore(call),
                     .coarse_place = history_.CoarsePlaceBefore(call),
                     .work_ps = warmth_.WarmWork(since_switch_ps, work_ps),
                     .fault_ps = at_full_speed(stretch.fault_ps)});
  if (charged.is_usual) warmth_.Learn(since_switch_ps, work_ps, charged.ps);
  return charged.ps;
}

}  // namespace eidolon::shim::host_time
