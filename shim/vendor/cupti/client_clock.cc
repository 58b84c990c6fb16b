#include "shim/vendor/cupti/client_clock.h"

#include <time.h>

#include <cmath>

#include "services/base/sim_time.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::cupti {
namespace {

// A clock whose rate is this close to the wall clock's has the same unit.
constexpr double kSameUnit = 1e-3;

std::int64_t WallNow() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);  // The shim's own, like the program's.
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::uint64_t WallNs(std::uint64_t rank_ps) {
  const base::SimTime begin{0};
  const base::Duration start_up = begin - time::RankTime(begin);
  const base::SimTime shown = base::SimTime{static_cast<std::int64_t>(rank_ps)} + start_up;
  return static_cast<std::uint64_t>(time::ReadingNs(CLOCK_REALTIME, shown));
}

ClientClock::Pair ClientClock::Compare() const {
  return {.wall_ns = WallNow(), .own = static_cast<std::int64_t>(function_())};
}

void ClientClock::Register(CUpti_TimestampCallbackFunc function) {
  const std::lock_guard lock(mutex_);
  function_ = function;
  slope_ = 1;
  if (function_ != nullptr) begin_ = Compare();
}

void ClientClock::Restart() {
  const std::lock_guard lock(mutex_);
  slope_ = 1;
  if (function_ != nullptr) begin_ = Compare();
}

void ClientClock::Refresh() {
  const std::lock_guard lock(mutex_);
  if (function_ == nullptr) return;
  const Pair end = Compare();
  if (end.wall_ns <= begin_.wall_ns) return;
  slope_ =
      static_cast<double>(end.own - begin_.own) / static_cast<double>(end.wall_ns - begin_.wall_ns);
}

std::uint64_t ClientClock::Now() {
  const std::lock_guard lock(mutex_);
  return function_ == nullptr ? static_cast<std::uint64_t>(WallNow()) : function_();
}

std::uint64_t ClientClock::FromRank(std::uint64_t rank_ps) {
  const std::uint64_t wall_ns = WallNs(rank_ps);
  const std::lock_guard lock(mutex_);
  if (function_ == nullptr) return wall_ns;
  const std::int64_t since = static_cast<std::int64_t>(wall_ns) - begin_.wall_ns;
  if (std::abs(slope_ - 1) < kSameUnit) return static_cast<std::uint64_t>(begin_.own + since);
  return static_cast<std::uint64_t>(begin_.own + std::llround(static_cast<double>(since) * slope_));
}

}  // namespace eidolon::shim::cupti
