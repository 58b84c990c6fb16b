// Samples of host work as tables keep them, and what a place's samples say it costs.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eidolon::shim::host_time {

// Positive floats order as their bits do: the upper half keeps 7 bits of mantissa.
using Sample = std::uint16_t;

inline Sample EncodeSample(std::uint64_t ps) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(ps));
  return static_cast<Sample>((bits + 0x8000) >> 16);
}
inline float DecodeSample(Sample sample) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(sample) << 16);
}

// The second smallest of this many samples counts as undisturbed; of fewer, the smallest.
inline constexpr std::size_t kSamplesToRank = 12;
// From this length on it is the median: long stretches average their noise themselves.
inline constexpr double kLongPs = 500e6;

// The undisturbed length that samples tell, in picoseconds. Orders them. Requires: not empty.
inline float LowOf(std::span<Sample> samples) noexcept {
  const std::size_t rank = samples.size() < kSamplesToRank ? 0 : 1;
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(rank));
  const float low = DecodeSample(samples[rank]);
  if (low < kLongPs) return low;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  return DecodeSample(*middle);
}

}  // namespace eidolon::shim::host_time
