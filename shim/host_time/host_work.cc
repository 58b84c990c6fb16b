#include "shim/host_time/host_work.h"

namespace eidolon::shim::host_time {

std::uint64_t HostWork::Before(std::uint64_t call, std::uint64_t work_ps, std::uint64_t fault_ps,
                               double speed) noexcept {
  const auto at_full_speed = [speed](std::uint64_t ps) {
    return static_cast<std::uint64_t>(static_cast<double>(ps) * speed);
  };
  return costs_.Charge({.place = history_.PlaceBefore(call),
                        .near_place = history_.NearPlaceBefore(call),
                        .coarse_place = history_.CoarsePlaceBefore(call),
                        .work_ps = at_full_speed(work_ps),
                        .fault_ps = at_full_speed(fault_ps)});
}

}  // namespace eidolon::shim::host_time
