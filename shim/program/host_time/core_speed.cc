#include "shim/program/host_time/core_speed.h"

#include <algorithm>

namespace eidolon::shim::host_time {
namespace {

// The median of a few runs: now and then processor time runs too slowly, where a hypervisor reports
// what it took.
template <typename Time>
base::Duration TypicalRun(Time time) {
  std::array<std::uint64_t, CoreSpeed::kRuns> times{};
  for (std::uint64_t& each : times) each = time();
  const auto typical = times.begin() + CoreSpeed::kRuns / 2;
  std::nth_element(times.begin(), typical, times.end());
  return base::Duration{static_cast<std::int64_t>(std::max<std::uint64_t>(*typical, 1))};
}

}  // namespace

void CoreSpeed::Median::Add(double speed) noexcept {
  last_[samples_ % kKept] = speed;
  ++samples_;
  std::array<double, kKept> sorted = last_;
  const std::size_t count = std::min(samples_, kKept);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  now_.store(*middle, std::memory_order_relaxed);
}

void CoreSpeed::Sample() noexcept {
  const std::unique_lock lock(sampling_, std::try_to_lock);
  if (!lock.owns_lock() || !probe_) return;
  between_calls_.Add(host_speed::SpeedOf(TypicalRun([this] { return timers_.probe(probe_); })));
  arithmetic_.Add(
      host_speed::SpeedOfArithmetic(TypicalRun([this] { return timers_.arithmetic(); })));
  if (between_calls_.samples() >= kKept) is_new_.store(false, std::memory_order_relaxed);
}

}  // namespace eidolon::shim::host_time
