// Power above the floor goes with the cube of the clock and time with its inverse, so the energy of
// work that follows the clock goes with the square. Buckets hold energy and time at the burst
// clock. That way PowerAt can tell what any clock would have drawn over the last window: it takes
// off what slower clocks had added and stretches the window for the clock in question. It grows
// with the clock, hence the binary search. A bucket is 2^30 ps, so a time is in bucket `ps >> 30`.
// Time never moves back: work of a second stream that starts before now_ gets the present clock.
#include "services/agent/device/power_clock.h"

#include <algorithm>

#include "services/contract/machine/machine.h"

namespace eidolon::agent::device {

using base::Duration;
using base::SimTime;
using base::Wide;

namespace {

constexpr std::int64_t kWhole = 1024;
constexpr std::int64_t kPsPerMicrosecond = 1'000'000;

// The product avoids 128 bits where 64 are enough, which they are but for operations of seconds.
std::int64_t Scaled(std::int64_t value, std::int64_t by, std::int64_t over) {
  if (value < std::int64_t{1} << 40 && by < std::int64_t{1} << 23) return value * by / over;
  return static_cast<std::int64_t>(static_cast<Wide>(value) * static_cast<Wide>(by) /
                                   static_cast<Wide>(over));
}

}  // namespace

PowerClock::Bucket& PowerClock::Bucket::operator+=(const Bucket& other) {
  clocked_nanojoules += other.clocked_nanojoules;
  other_nanojoules += other.other_nanojoules;
  clocked_ps += other.clocked_ps;
  extra_ps += other.extra_ps;
  return *this;
}

PowerClock::Bucket& PowerClock::Bucket::operator-=(const Bucket& other) {
  clocked_nanojoules -= other.clocked_nanojoules;
  other_nanojoules -= other.other_nanojoules;
  clocked_ps -= other.clocked_ps;
  extra_ps -= other.extra_ps;
  return *this;
}

void PowerClock::MoveTo(std::int64_t bucket) {
  if (bucket <= now_) return;
  if (bucket - now_ > kWindow + kAhead) {
    // Whatever was kept lies before the window.
    for (const Bucket& kept : buckets_) begun_with_ += kept;
    begun_with_ -= window_;
    buckets_.fill({});
    window_ = {};
    now_ = bucket;
  }
  while (now_ < bucket) {
    window_ += At(now_);
    begun_with_ += At(now_);
    ++now_;
    Bucket& left = At(now_ - kWindow - 1);
    window_ -= left;
    left = {};
  }
  SetClock();
}

std::int64_t PowerClock::LengthPs() const {
  return IsStarting() ? std::max(now_ * kBucket - begin_.ps, kBucket) : kWindow * kBucket;
}

// `burst` is the window without what slower clocks added to its work, `length` the same at the
// clock in question.
std::int64_t PowerClock::PowerAt(std::int64_t clock) const {
  const Bucket& work = IsStarting() ? begun_with_ : window_;
  const std::int64_t burst = std::max(LengthPs() - work.extra_ps, kBucket);
  const std::int64_t length = burst + Scaled(work.clocked_ps, kWhole - clock, clock);
  const std::int64_t energy =
      work.other_nanojoules + Scaled(work.clocked_nanojoules, clock * clock, kWhole * kWhole);
  return Scaled(energy, kPsPerMicrosecond, length);
}

void PowerClock::SetClock() {
  clock_ = kWhole;
  std::int64_t power = PowerAt(kWhole);
  if (power > traits_.room_milliwatts) {
    auto low = static_cast<std::int64_t>(machine::kClockMin * kWhole);
    std::int64_t high = kWhole;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (PowerAt(middle) > traits_.room_milliwatts ? high : low) = middle;
    }
    clock_ = low;
    power = PowerAt(low);
  }
  milliwatts_ = traits_.floor_milliwatts + power;
}

void PowerClock::SkipPause(SimTime start) {
  const Duration pause = start - end_;
  if (IsStarting() && pause.ps >= kWindow * kBucket) begin_ += pause;
}

Duration PowerClock::Stretch(SimTime start, Duration burst, const Draw& draw) {
  SkipPause(start);
  MoveTo(start.ps >> kBucketBits);
  if (!begun_ && draw.clock_share > 0) {
    begun_ = true;
    begin_ = std::max(start, SimTime{(now_ - kWindow) * kBucket});
    // The work that its bucket holds already came before.
    const std::int64_t first = begin_.ps >> kBucketBits;
    begun_with_ = {};
    begun_with_ -= At(first);
    for (std::int64_t bucket = first; bucket < now_; ++bucket) begun_with_ += At(bucket);
  }
  if (clock_ == kWhole || draw.clock_share == 0) return burst;
  const std::int64_t clocked = Scaled(burst.ps, draw.clock_share, kWhole);
  return burst + Duration{Scaled(clocked, kWhole - clock_, clock_)};
}

std::uint64_t PowerClock::Spend(SimTime start, Duration span, Duration burst, const Draw& draw) {
  if (burst.ps <= 0 || draw.milliwatts == 0) return 0;
  const std::int64_t nanojoules = Scaled(burst.ps, draw.milliwatts, kPsPerMicrosecond);
  const std::int64_t clocked =
      nanojoules - Scaled(burst.ps, draw.memory_milliwatts, kPsPerMicrosecond);
  const std::int64_t clocked_ps = Scaled(burst.ps, draw.clock_share, kWhole);
  Bucket left{.clocked_nanojoules = clocked,
              .other_nanojoules = nanojoules - clocked,
              .clocked_ps = clocked_ps,
              .extra_ps = Scaled(clocked_ps, kWhole - clock_, clock_)};
  const std::int64_t spent =
      left.other_nanojoules + Scaled(clocked, clock_ * clock_, kWhole * kWhole);
  end_ = std::max(end_, start + span);
  // Evenly over the time that it runs.
  std::int64_t bucket = start.ps >> kBucketBits;
  const SimTime end = start + std::max(span, Duration{1});
  for (SimTime from = start; from < end; ++bucket) {
    const SimTime to = std::min(end, SimTime{(bucket + 1) << kBucketBits});
    Bucket part = left;
    if (to < end) {
      const auto share = [&](std::int64_t value) {
        return Scaled(value, (to - from).ps, (end - from).ps);
      };
      part = {.clocked_nanojoules = share(left.clocked_nanojoules),
              .other_nanojoules = share(left.other_nanojoules),
              .clocked_ps = share(left.clocked_ps),
              .extra_ps = share(left.extra_ps)};
    }
    left -= part;
    if (bucket > now_ + kAhead) MoveTo(bucket - kAhead);
    if (bucket >= now_ - kWindow) {
      At(bucket) += part;
      if (bucket < now_) {
        window_ += part;
        if (bucket >= begin_.ps >> kBucketBits) begun_with_ += part;
      }
    }
    from = to;
  }
  constexpr std::uint64_t kNanojoulesPerMicrojoule = 1000;
  return static_cast<std::uint64_t>(spent) / kNanojoulesPerMicrojoule;
}

}  // namespace eidolon::agent::device
