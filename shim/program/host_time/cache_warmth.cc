#include "shim/program/host_time/cache_warmth.h"

#include <algorithm>
#include <bit>

namespace eidolon::shim::host_time {

std::size_t CacheWarmth::BucketOf(std::uint64_t since_switch_ps) noexcept {
  return std::min(static_cast<std::size_t>(std::bit_width(since_switch_ps / kFirstBucketPs)),
                  kBuckets - 1);
}

std::uint64_t CacheWarmth::WarmWork(std::uint64_t since_switch_ps,
                                    std::uint64_t work_ps) const noexcept {
  double warm_ps = 0;
  std::size_t bucket = BucketOf(since_switch_ps);
  for (; bucket + 1 < kBuckets && since_switch_ps + work_ps > EndOf(bucket); ++bucket) {
    const std::uint64_t within = EndOf(bucket) - since_switch_ps;
    warm_ps += static_cast<double>(within) / slowdown_[bucket];
    since_switch_ps += within;
    work_ps -= within;
  }
  return static_cast<std::uint64_t>(warm_ps + static_cast<double>(work_ps) / slowdown_[bucket]);
}

void CacheWarmth::Learn(std::uint64_t since_switch_ps, std::uint64_t work_ps,
                        std::uint64_t usual_ps) noexcept {
  if (work_ps > kLongestPs) return;
  const std::size_t bucket = BucketOf(since_switch_ps);
  work_ps_[bucket] += static_cast<float>(work_ps);
  usual_ps_[bucket] += static_cast<float>(usual_ps);
  known_ps_ += static_cast<float>(usual_ps);
  if (--until_fit_ > 0) return;
  until_fit_ = kFitEvery;
  Fit();
}

void CacheWarmth::Fit() noexcept {
  // Usual costs may all be too small by the same factor (a low quantile's): it falls out below.
  float taken_ps = 0, foretold_ps = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    taken_ps += work_ps_[i];
    foretold_ps += usual_ps_[i] * kPrior[i];
  }
  const float level = foretold_ps > 0 ? taken_ps / foretold_ps : 1;
  const auto rate = [&](std::size_t i) {
    const float prior_ps = i + 1 < kBuckets ? kPriorPs : kWarmPriorPs;
    return (work_ps_[i] + prior_ps * level * kPrior[i]) / (usual_ps_[i] + prior_ps);
  };
  const float warm = std::max(rate(kBuckets - 1), 1e-6f);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    slowdown_[i] = std::clamp(rate(i) / warm, kLeast, kMost);
  }
  if (known_ps_ <= kMemoryPs) return;
  known_ps_ /= 2;
  for (float& sum : work_ps_) sum /= 2;
  for (float& sum : usual_ps_) sum /= 2;
}

}  // namespace eidolon::shim::host_time
