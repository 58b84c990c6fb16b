// Samples of host work that the processes of an emulated server share (measured model): for each
// place of the program, samples of all of them. Memory that all of them map and write; the agent
// only makes it, as <run directory>/host.costs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eidolon::ring {

// A place's row. All zero: free.
struct alignas(64) SharedHostCost {
  static constexpr std::size_t kSamples = 24;
  std::atomic<std::uint64_t> place;
  std::atomic<std::uint32_t> seen;               // Samples so far; the last ones are kept.
  std::atomic<std::uint16_t> samples[kSamples];  // The upper half of a float, in picoseconds.
};
static_assert(sizeof(SharedHostCost) == 64);

// An open hash table that never drops a place.
inline constexpr std::size_t kSharedHostCosts = std::size_t{1} << 15;
inline constexpr std::size_t kSharedHostCostBytes = kSharedHostCosts * sizeof(SharedHostCost);

}  // namespace eidolon::ring
