#include "shim/program/host_time/shared_costs.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>

namespace eidolon::shim::host_time {
namespace {

using ring::SharedHostCost;

constexpr auto kRelaxed = std::memory_order_relaxed;

std::size_t RowOf(std::uint64_t place, std::size_t step) {
  return ((place * 0x9e3779b97f4a7c15u >> 40) + step) % ring::kSharedHostCosts;
}

}  // namespace

float SharedCosts::LowOfRow(const SharedHostCost& row) noexcept {
  const std::uint32_t seen = row.seen.load(kRelaxed);
  if (seen < kEnough) return 0;
  std::array<Sample, SharedHostCost::kSamples> samples;
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = row.samples[i].load(kRelaxed);
  const std::size_t kept = std::min<std::size_t>(seen, samples.size());
  return std::max(LowOf(std::span(samples).first(kept)), 1.0f);
}

float SharedCosts::Add(std::uint64_t place, Sample sample) noexcept {
  for (std::size_t step = 0; step < kTries; ++step) {
    SharedHostCost& row = rows_[RowOf(place, step)];
    std::uint64_t found = row.place.load(kRelaxed);
    if (found == 0 && row.place.compare_exchange_strong(found, place, kRelaxed)) found = place;
    if (found != place) continue;
    const std::uint32_t seen = row.seen.load(kRelaxed);
    row.seen.store(seen + 1, kRelaxed);
    // Which sample makes room, no pattern of the program decides.
    const std::size_t at = seen < SharedHostCost::kSamples
                               ? seen
                               : (seen * 0x9e3779b1u >> 8) % SharedHostCost::kSamples;
    row.samples[at].store(sample, kRelaxed);
    return LowOfRow(row);
  }
  return 0;
}

float SharedCosts::LowOfAll(std::uint64_t place) const noexcept {
  for (std::size_t step = 0; step < kTries; ++step) {
    const SharedHostCost& row = rows_[RowOf(place, step)];
    const std::uint64_t found = row.place.load(kRelaxed);
    if (found == 0) return 0;
    if (found == place) return LowOfRow(row);
  }
  return 0;
}

}  // namespace eidolon::shim::host_time
