// The simulating machine disturbs host work in one direction only: interrupts, other processes and
// cold caches make it longer. A low quantile of a place's samples is therefore close to the
// undisturbed time, and it does not depend on how loaded the machine is, as a mean would. Twelve
// samples per place suffice for it, and a place fills one cache line. The table is open-addressed
// over eight slots; when all are taken, the place that was seen least gives way, so a program with
// more places than slots forgets rare ones. All times are picoseconds of processor time of one
// thread; nothing here reads a clock.
#include "shim/program/host_time/gap_costs.h"

#include <algorithm>
#include <bit>
#include <new>
#include <span>

namespace eidolon::shim::host_time {
namespace {

bool AreNear(float a, float b) {
  const auto [less, more] = std::minmax(a, b);
  return more <= less * GapCosts::kNear || more - less <= GapCosts::kNearPs;
}

float ChargeOf(float low_ps) {
  if (low_ps == 0) return 0;
  // A median needs no factor, and costs no less than what is a little shorter.
  const double factor = low_ps < kLongPs ? GapCosts::kOverLow : 1;
  const double least = low_ps < kLongPs ? 1 : kLongPs * GapCosts::kOverLow;
  return static_cast<float>(std::max(low_ps * factor, least));
}

}  // namespace

GapCosts::GapCosts(SharedCosts* shared)
    : shared_(shared), table_(new (std::nothrow) std::array<Place, kPlaces>) {}

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

float GapCosts::CostOf(const Place& place, float low_of_all) noexcept {
  const std::uint32_t enough = place.had_more_faults ? 1 : kEnough;
  if (place.kept < enough) return ChargeOf(low_of_all);
  std::array<Sample, kSamples> samples = place.samples;
  const float own = std::max(LowOf(std::span(samples).first(place.kept)), 1.0f);
  return ChargeOf(low_of_all > 0 && AreNear(own, low_of_all) ? low_of_all : own);
}

void GapCosts::ForgetSamples(Place& place, float fault_ps) noexcept {
  place.kept = 0;
  place.low_of_all = 0;
  place.cost_ps = 0;
  place.fault_ps = fault_ps;
  place.with_more_faults = 0;
}

// Page faults split the samples of long stretches into two populations, and only the one with fewer
// faults is kept. Samples with more are passed over until twelve in a row show that the others are
// gone.
bool GapCosts::HasUsualFaults(Place& place, const Gap& gap) noexcept {
  const auto work = static_cast<float>(gap.work_ps);
  if (work < kLongPs) return true;
  const auto faults = static_cast<float>(gap.fault_ps);
  if (place.seen == 0) {
    place.fault_ps = faults;
  } else if (faults + work * kFaultPart < place.fault_ps) {
    ForgetSamples(place, faults);
    place.had_more_faults = true;
  } else if (faults > place.fault_ps + work * kFaultPart) {
    if (++place.with_more_faults < kAllMeetFaults) return false;
    ForgetSamples(place, faults);
  } else {
    place.with_more_faults = 0;
  }
  return true;
}

// Ranks tell each other samples with about as many page faults.
std::uint64_t GapCosts::SharedKey(const Place& place) noexcept {
  const auto level = static_cast<std::uint64_t>(
      std::bit_width(static_cast<std::uint64_t>(place.fault_ps / (kLongPs / 8))));
  return place.key + level * 0x9e3779b97f4a7c15u;
}

void GapCosts::Learn(Place& place, const Gap& gap) noexcept {
  if (!HasUsualFaults(place, gap)) return;
  const Sample sample = EncodeSample(gap.work_ps);
  if (place.seen == 0) place.new_at_us = Now();
  const std::uint32_t seen = place.seen++;
  bool tells = shared_ != nullptr;
  if (place.kept < kSamples) {
    place.samples[place.kept++] = sample;
  } else {
    // One in four replaces the oldest, so that the place's memory is its last 48 at least. Which,
    // no pattern of the program decides: layers come in fours, too.
    const std::uint32_t drawn = seen * 0x9e3779b1u;
    if ((drawn >> 30) != 0 || !IsDue(place)) return;
    place.samples[place.next] = sample;
    place.next = static_cast<std::uint8_t>((place.next + 1) % kSamples);
    // And of these one in four goes to the others: their memory is farther away.
    tells = tells && ((drawn >> 28) & 3) == 0;
  }
  place.kept_at_us = Now();
  if (tells) place.low_of_all = shared_->Add(SharedKey(place), sample);
  place.cost_ps = CostOf(place, place.low_of_all);
}

bool GapCosts::IsDue(const Place& place) const noexcept {
  const std::uint32_t now_us = Now();
  const std::uint32_t apart_us = std::min(kApartUs, (now_us - place.new_at_us) / kApartPart);
  return now_us - place.kept_at_us >= apart_us;
}

float GapCosts::KnownCost(const Place& place) const noexcept {
  if (place.cost_ps != 0 || shared_ == nullptr) return place.cost_ps;
  return ChargeOf(shared_->LowOfAll(SharedKey(place)));
}

GapCosts::Charged GapCosts::Charge(const Gap& gap) noexcept {
  worked_ps_ += gap.work_ps;
  const Charged taken{.ps = gap.work_ps};
  if (table_ == nullptr) return taken;
  float cost = 0;
  for (const std::uint64_t key : {gap.place, gap.near_place, gap.coarse_place}) {
    Place& place = Find(key);
    cost = KnownCost(place);
    Learn(place, gap);
    if (cost != 0) break;
  }
  if (cost == 0) return taken;
  const auto work = static_cast<float>(gap.work_ps);
  if (work > cost * kOtherWorkFactor && work > cost + kOtherWorkPs) return taken;
  return {.ps = static_cast<std::uint64_t>(cost), .is_usual = true};
}

}  // namespace eidolon::shim::host_time
