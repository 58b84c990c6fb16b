#include "shim/host_time/host_work.h"

namespace eidolon::shim::host_time {

std::uint64_t HostWork::Before(std::uint64_t call, std::uint64_t work_ps, double speed) noexcept {
  const auto at_full_speed = static_cast<std::uint64_t>(static_cast<double>(work_ps) * speed);
  return costs_.Charge({.place = history_.PlaceBefore(call),
                        .near_place = history_.NearPlaceBefore(call),
                        .coarse_place = history_.CoarsePlaceBefore(call),
                        .work_ps = at_full_speed});
}

}  // namespace eidolon::shim::host_time
