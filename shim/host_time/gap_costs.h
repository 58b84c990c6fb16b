// What the host work between two calls costs, learned for each place of the program from many
// samples: what disturbs single samples on this machine (another process was on the core, caches
// are cold, an interrupt) is left out, and what the program does differently stays.
//
// A place's cost is a low quantile of its samples, times how much longer work takes on a core of
// its own than in its quickest moments. Long stretches average their noise themselves: theirs is
// the median. A sample far above its place's cost is not noise: something else ran there once (a
// garbage collection, a checkpoint, a compilation, every tenth step's logging), and costs what it
// took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace eidolon::shim::host_time {

// One stretch of host work. Times are processor time in picoseconds, at the core's full speed.
struct Gap {
  std::uint64_t place = 0;         // CallHistory::PlaceBefore.
  std::uint64_t coarse_place = 0;  // CallHistory::CoarsePlaceBefore.
  std::uint64_t work_ps = 0;
  bool disturbed = false;  // The thread had just got the core back.
};

// The places of one thread: a table of fixed size, 256 KiB. Not shared.
class GapCosts {
 public:
  GapCosts();
  // False: there was no memory for the table. Then every gap costs what it took.
  explicit operator bool() const noexcept { return table_ != nullptr; }

  // What the gap costs; learns from it.
  std::uint64_t Charge(const Gap& gap) noexcept;

  // The quantile of a place's samples that counts as undisturbed: the second smallest of twelve.
  // And what the same work takes in the mean where a rank has a core of its own, over that:
  // measured with GPT-2 on one rank, whose host time is 1.28 times the quantile that eight ranks on
  // two cores find (docs/host_time.md). No published training step had a part in it.
  static constexpr std::size_t kSamples = 12;
  static constexpr std::size_t kLowRank = 1;
  static constexpr double kOverLow = 1.28;
  // From this length on the median is taken.
  static constexpr double kLongPs = 500e6;
  // Beyond so many times its place's cost, and by so much, a gap is another piece of work.
  static constexpr double kOtherWorkFactor = 4;
  static constexpr double kOtherWorkPs = 300e6;

 private:
  // Positive floats order as their bits do: the upper half keeps 7 bits of mantissa.
  using Sample = std::uint16_t;
  static constexpr std::size_t kDisturbedSamples = 4;
  static constexpr std::size_t kEnough = 4;
  static constexpr std::size_t kPlaces = 4096;
  static constexpr std::size_t kTries = 8;

  struct alignas(64) Place {
    std::uint64_t key = 0;
    std::uint32_t seen = 0;  // Undisturbed samples so far.
    std::uint8_t kept = 0, kept_disturbed = 0, next_disturbed = 0;
    float cost_ps = 0;  // 0: not known yet.
    std::array<Sample, kSamples> samples{};
    std::array<Sample, kDisturbedSamples> disturbed{};
  };
  static_assert(sizeof(Place) == 64);

  Place& Find(std::uint64_t key) noexcept;
  static void Learn(Place& place, const Gap& gap) noexcept;
  static float CostOf(const Place& place) noexcept;

  std::unique_ptr<std::array<Place, kPlaces>> table_;
};

}  // namespace eidolon::shim::host_time
