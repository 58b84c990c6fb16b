// What the host work between two calls costs, learned for each place of the program from many
// samples: what disturbs single samples on this machine (another process was on the core, caches
// are cold, an interrupt) is left out, and what the program does differently stays.
//
// A place's cost is a low quantile of its samples, times how much longer work takes on a core of
// its own than in its quickest moments. Samples of all ranks of the server count together, unless a
// rank's own ones are far from them: it logs, loads data, has a larger shard, and pays for that.
// Long stretches average their noise themselves: theirs is the median, of those samples that met
// the fewest page faults: whether an allocator takes memory from the kernel anew depends on what
// lies where, and ends as a program goes on. A sample far above its
// place's cost is not noise: something else ran there once (a garbage collection, a checkpoint, a
// compilation, every tenth step's logging), and costs what it took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "shim/program/host_time/sample.h"
#include "shim/program/host_time/shared_costs.h"

namespace eidolon::shim::host_time {

// One stretch of host work. Times are processor time in picoseconds, at the core's full speed.
struct Gap {
  // Places as CallHistory gives them. The first one counts that is known.
  std::uint64_t place = 0, near_place = 0, coarse_place = 0;
  std::uint64_t work_ps = 0;
  // Part of it that page faults took. Known of stretches of kLongPs and more.
  std::uint64_t fault_ps = 0;
};

// The places of one thread: a table of fixed size, 512 KiB. Not shared.
class GapCosts {
 public:
  // `shared`: samples of all processes of the server, or null; outlives this.
  explicit GapCosts(SharedCosts* shared = nullptr);
  // False: there was no memory for the table. Then every gap costs what it took.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  struct Charged {
    std::uint64_t ps = 0;
    bool is_usual = false;  // What the place costs, not what this gap took.
  };
  // Returns what the gap costs; learns from it.
  Charged Charge(const Gap& gap) noexcept;

  // Ratio of the mean time of the same work on a core of its own to the quantile that ranks find
  // together: measured with GPT-2 (docs/host_time.md). No published training step had a part in it.
  static constexpr double kOverLow = 1.23;
  // A rank's own samples agree with those of all when the larger cost is at most so many times the
  // smaller, or they differ by so little.
  static constexpr float kNear = 2.0f;
  static constexpr float kNearPs = 10e6f;
  // Beyond so many times its place's cost, and by so much, a gap is another piece of work.
  static constexpr double kOtherWorkFactor = 4;
  static constexpr double kOtherWorkPs = 300e6;

 private:
  static constexpr std::size_t kSamples = 12;
  static constexpr std::size_t kEnough = 4;
  static constexpr std::size_t kPlaces = 8192;
  static constexpr std::size_t kTries = 8;
  // Page faults that take this part of a stretch more than in another one tell the two apart.
  static constexpr float kFaultPart = 1.0f / 16;
  // A place's samples are at least so far apart, in host work of the thread, and at least this part
  // of the time for which the place is known: together they span what the speed of the core is
  // measured over (core_speed.h), and not the one moment in which a loop filled them.
  static constexpr std::uint32_t kApartUs = 25'000;
  static constexpr std::uint32_t kApartPart = 16;
  // This many samples in a row with more page faults than before show that all meet them now.
  static constexpr std::uint16_t kAllMeetFaults = 12;

  struct alignas(64) Place {
    std::uint64_t key = 0;
    std::uint32_t seen = 0;  // Samples so far.
    std::uint32_t kept = 0;
    float cost_ps = 0;     // 0: not known yet.
    float low_of_all = 0;  // What the samples of all processes said last.
    // Of long stretches: what page faults took in those that are kept, how many with more of them
    // have followed each other since, and whether samples with more were dropped for these.
    float fault_ps = 0;
    std::uint16_t with_more_faults = 0;
    bool had_more_faults = false;
    std::uint8_t next = 0;  // Sample that is replaced next.
    // Times of the thread's host work: when the place was new, and when it last kept a sample.
    std::uint32_t new_at_us = 0;
    std::uint32_t kept_at_us = 0;
    std::array<Sample, kSamples> samples{};
  };
  static_assert(sizeof(Place) == 64);

  Place& Find(std::uint64_t key) noexcept;
  void Learn(Place& place, const Gap& gap) noexcept;
  // Returns whether the time has come for another sample of a place that has enough of them.
  bool IsDue(const Place& place) const noexcept;
  // False: the sample met page faults that others of its place do not meet.
  static bool HasUsualFaults(Place& place, const Gap& gap) noexcept;
  static void ForgetSamples(Place& place, float fault_ps) noexcept;
  static std::uint64_t SharedKey(const Place& place) noexcept;
  static float CostOf(const Place& place, float low_of_all) noexcept;
  float KnownCost(const Place& place) const noexcept;

  // Microseconds; it wraps, after an hour.
  std::uint32_t Now() const noexcept { return static_cast<std::uint32_t>(worked_ps_ / 1'000'000); }

  SharedCosts* shared_;
  std::uint64_t worked_ps_ = 0;  // Host work so far.
  std::unique_ptr<std::array<Place, kPlaces>> table_;
};

}  // namespace eidolon::shim::host_time
