// How much longer host work takes while a core's caches hold another process's data: after a switch
// a thread's code takes up to three times as long, and less and less from there on. On the target a
// rank has its cores to itself and its waits spin, so that this is noise of the simulating machine:
// with more ranks than cores, or beside other work, it is most of it.
//
// Learned while the program runs, from places of the program whose usual cost is known and which
// are met soon after a switch as well as later. What ranks that always wait soon never show is
// taken from the prior.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eidolon::shim::host_time {

// One thread's. Not shared. All times are processor time in picoseconds, at the core's full speed.
class CacheWarmth {
 public:
  CacheWarmth() noexcept { Fit(); }

  // `work_ps` of work began when the thread had worked for `since_switch_ps` since it got its core
  // back: how long it would take with the thread's own data in the caches.
  std::uint64_t WarmWork(std::uint64_t since_switch_ps, std::uint64_t work_ps) const noexcept;

  // The same, for work that usually takes `usual_ps` with warm caches, or a part of it that is the
  // same everywhere. Short work only: what lasts longer than kLongestPs is passed over.
  void Learn(std::uint64_t since_switch_ps, std::uint64_t work_ps, std::uint64_t usual_ps) noexcept;

  // Returns how many times as long work takes that begins so long after a switch.
  double Slowdown(std::uint64_t since_switch_ps) const noexcept {
    return slowdown_[BucketOf(since_switch_ps)];
  }

  // Buckets double in length; the last one has no end and counts as warm: 0.5 ms.
  static constexpr std::size_t kBuckets = 9;
  static constexpr std::uint64_t kFirstBucketPs = std::uint64_t{1} << 22;
  static constexpr std::uint64_t kLongestPs = 500'000'000;
  // Slowdowns that are assumed, as far as nothing is learned: the mean over GPT-2 on one and on
  // eight ranks and ZeRO-3 on two, on two cores that were quiet and busy (docs/host_time.md).
  static constexpr std::array<float, kBuckets> kPrior = {1.9f,  1.7f,  1.5f,  1.3f, 1.3f,
                                                         1.25f, 1.13f, 1.05f, 1.0f};
  // So much work in a bucket counts as much as the prior. All slowdowns depend on the last one.
  static constexpr float kPriorPs = 5e7f;
  static constexpr float kWarmPriorPs = 2e9f;
  // What was learned is halved whenever the known work exceeds this: the machine's load changes.
  static constexpr float kMemoryPs = 400e9f;

 private:
  static std::size_t BucketOf(std::uint64_t since_switch_ps) noexcept;
  static std::uint64_t EndOf(std::size_t bucket) noexcept { return kFirstBucketPs << bucket; }
  void Fit() noexcept;

  static constexpr std::uint32_t kFitEvery = 256;  // Pieces of work.
  static constexpr float kLeast = 1.0f, kMost = 6.0f;

  std::array<float, kBuckets> slowdown_{};
  std::array<float, kBuckets> work_ps_{};   // Of places whose usual cost is known: what they took
  std::array<float, kBuckets> usual_ps_{};  // and what they usually take.
  float known_ps_ = 0;                      // The sum of usual_ps_.
  std::uint32_t until_fit_ = kFitEvery;
};

}  // namespace eidolon::shim::host_time
