#include "shim/host_time/core_speed.h"

#include <algorithm>

namespace eidolon::shim::host_time {

void CoreSpeed::Sample() noexcept {
  const std::unique_lock lock(sampling_, std::try_to_lock);
  if (!lock.owns_lock() || !probe_) return;
  // The median: now and then processor time runs too slowly, where a hypervisor reports what it
  // took.
  std::array<std::uint64_t, kRuns> times{};
  for (std::uint64_t& time : times) time = timer_(probe_);
  const auto typical = times.begin() + kRuns / 2;
  std::nth_element(times.begin(), typical, times.end());
  const base::Duration length{static_cast<std::int64_t>(std::max<std::uint64_t>(*typical, 1))};
  const double speed = host_speed::SpeedOf(length);
  last_[samples_ % kKept] = speed;
  ++samples_;
  std::array<double, kKept> sorted = last_;
  const std::size_t count = std::min(samples_, kKept);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  now_.store(*middle, std::memory_order_relaxed);
  if (samples_ >= kKept) is_new_.store(false, std::memory_order_relaxed);
}

}  // namespace eidolon::shim::host_time
