#include "shim/program/host_time/jitter.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace eidolon::shim::host_time {
namespace {

constexpr double kPsPerSecond = 1e12;

// A number in (0, 1).
double DrawUniform(base::Random& random) noexcept {
  return (static_cast<double>(random.Next() >> 11) + 0.5) * 0x1p-53;
}

// Sums of ln(2)^i / i! from i = 1 on, as far as they differ from 1.
constexpr std::array<double, 20> kSums = [] {
  std::array<double, 20> sums{};
  constexpr double kLn2 = 0.69314718055994530942;
  double term = 1, sum = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    term *= kLn2 / static_cast<double>(i + 1);
    sum += term;
    sums[i] = sum;
  }
  sums.back() = 1;
  return sums;
}();

}  // namespace

double DrawExponential(base::Random& random) noexcept {
  double whole = 0;
  double u = DrawUniform(random);
  for (u += u; u <= 1; u += u) whole += kSums[0];
  u -= 1;
  if (u <= kSums[0]) return whole + u;
  double least = DrawUniform(random);
  std::size_t i = 0;
  do {
    least = std::min(least, DrawUniform(random));
    ++i;
  } while (i + 1 < kSums.size() && u > kSums[i]);
  return whole + least * kSums[0];
}

Jitter::Jitter(const Options& options) noexcept : options_(options), random_(options.seed) {
  next_ps_.store(DrawGap(), std::memory_order_relaxed);
}

std::uint64_t Jitter::DrawGap() noexcept {
  const double gap = DrawExponential(random_) * (kPsPerSecond / options_.per_second);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(gap), 1);
}

std::uint64_t Jitter::DrawLength() noexcept {
  if (!options_.exponential) return options_.length_ps;
  return static_cast<std::uint64_t>(DrawExponential(random_) *
                                    static_cast<double>(options_.length_ps));
}

std::uint64_t Jitter::DelaysIn(std::uint64_t work_ps) noexcept {
  const std::uint64_t now = worked_ps_.fetch_add(work_ps, std::memory_order_relaxed) + work_ps;
  if (now < next_ps_.load(std::memory_order_relaxed)) return 0;
  const std::lock_guard guard(drawing_);
  std::uint64_t delays = 0;
  std::uint64_t next = next_ps_.load(std::memory_order_relaxed);
  while (next <= now) {
    delays += DrawLength();
    next += DrawGap();
  }
  next_ps_.store(next, std::memory_order_relaxed);
  return delays;
}

}  // namespace eidolon::shim::host_time
