#include "shim/host_time/gap_costs.h"

#include <algorithm>
#include <bit>
#include <new>

namespace eidolon::shim::host_time {
namespace {

std::uint16_t Encode(std::uint64_t ps) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(ps));
  return static_cast<std::uint16_t>((bits + 0x8000) >> 16);
}

float Decode(std::uint16_t sample) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(sample) << 16);
}

}  // namespace

GapCosts::GapCosts() : table_(new (std::nothrow) std::array<Place, kPlaces>) {}

GapCosts::Place& GapCosts::Find(std::uint64_t key) noexcept {
  const std::size_t begin = (key >> 1) % kPlaces;
  Place* rarest = nullptr;
  for (std::size_t step = 0; step < kTries; ++step) {
    Place& place = (*table_)[(begin + step) % kPlaces];
    if (place.key == key) return place;
    if (place.key == 0) {
      place.key = key;
      return place;
    }
    if (rarest == nullptr || place.seen < rarest->seen) rarest = &place;
  }
  *rarest = {};
  rarest->key = key;
  return *rarest;
}

float GapCosts::CostOf(const Place& place) noexcept {
  std::array<Sample, kSamples> sorted = place.samples;
  std::size_t count = place.kept;
  if (count < kEnough) {
    // A place that is only ever reached after a wait: its best sample is what there is.
    if (place.kept_disturbed < kDisturbedSamples) return 0;
    Sample best = *std::ranges::min_element(place.disturbed);
    for (std::size_t i = 0; i < count; ++i) best = std::min(best, place.samples[i]);
    return std::max(Decode(best), 1.0f);
  }
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
  const std::size_t rank = count * (kLowRank + 1) / kSamples;
  const auto low = sorted.begin() + static_cast<std::ptrdiff_t>(rank == 0 ? 0 : rank - 1);
  std::nth_element(sorted.begin(), low, end);
  const float low_ps = Decode(*low);
  if (low_ps < kLongPs) return std::max(static_cast<float>(low_ps * kOverLow), 1.0f);
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(sorted.begin(), middle, end);
  return std::max(Decode(*middle), static_cast<float>(kLongPs * kOverLow));
}

void GapCosts::Learn(Place& place, const Gap& gap) noexcept {
  if (gap.disturbed) {
    if (place.kept >= kEnough) return;
    place.disturbed[place.next_disturbed] = Encode(gap.work_ps);
    place.next_disturbed =
        static_cast<std::uint8_t>((place.next_disturbed + 1) % kDisturbedSamples);
    if (place.kept_disturbed < kDisturbedSamples) ++place.kept_disturbed;
    place.cost_ps = CostOf(place);
    return;
  }
  const std::uint32_t seen = place.seen++;
  if (place.kept < kSamples) {
    place.samples[place.kept++] = Encode(gap.work_ps);
  } else {
    // One in four replaces an old one, so that the place's memory is its last 48. Which, no pattern
    // of the program decides: layers come in fours, too.
    const std::uint32_t drawn = seen * 0x9e3779b1u;
    if ((drawn >> 30) != 0) return;
    place.samples[(drawn >> 8) % kSamples] = Encode(gap.work_ps);
  }
  place.cost_ps = CostOf(place);
}

std::uint64_t GapCosts::Charge(const Gap& gap) noexcept {
  if (table_ == nullptr) return gap.work_ps;
  Place* place = &Find(gap.place);
  float cost = place->cost_ps;
  Learn(*place, gap);
  if (cost == 0) {
    place = &Find(gap.coarse_place);
    cost = place->cost_ps;
    Learn(*place, gap);
    if (cost == 0) return gap.work_ps;
  }
  const auto work = static_cast<float>(gap.work_ps);
  if (work > cost * kOtherWorkFactor && work > cost + kOtherWorkPs) return gap.work_ps;
  return static_cast<std::uint64_t>(cost);
}

}  // namespace eidolon::shim::host_time
