// The clock of one emulated GPU under its power limit, and the energy of its work.
//
// Work runs at its burst clock while the power of the last 43 ms stays below the limit. Above it
// the multiprocessors' clock falls until it would have stayed there: durations of work that goes
// with the clock become longer, those of work bound by memory do not. The energy of any work goes
// with the square of the clock, except what memory chips draw (docs/timing_power.md names every
// source).
//
// A job stands for a long run: until it has worked for a window, its mean so far stands for the
// window, so that few short iterations have the clocks that many settle at. It counts from the
// first work that goes with the clock on, without pauses as long as a window, in which programs
// start.
//
// It looks at the local timeline (contention.h), so that clocks are a function of the program
// alone. All arithmetic is on integers. Without a limit it changes no duration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "services/base/sim_time.h"

namespace eidolon::agent::device {

// These traits belong to a GPU. `room` 0: its power is not known, and nothing is limited.
struct PowerTraits {
  std::int64_t floor_milliwatts = 0;  // Clocks are up and nothing runs.
  std::int64_t room_milliwatts = 0;   // Above the floor, when the limit is reached.
};

// A draw is that of one operation at its burst clock.
struct Draw {
  std::uint32_t milliwatts = 0;         // Above the floor.
  std::uint32_t memory_milliwatts = 0;  // Of these, what memory chips draw, whatever the clock.
  std::uint32_t clock_share = 0;        // Of its duration in 1/1024, what goes with the clock.
};

// One device of one process; no threads.
class PowerClock {
 public:
  explicit PowerClock(const PowerTraits& traits) : traits_(traits) {}

  bool IsLimited() const { return traits_.room_milliwatts > 0; }

  // Returns how long work takes that starts at `start` and takes `burst` at its burst clock.
  base::Duration Stretch(base::SimTime start, base::Duration burst, const Draw& draw);

  // The same work runs for `span` from `start` on. Answers its energy above the floor.
  std::uint64_t Spend(base::SimTime start, base::Duration span, base::Duration burst,
                      const Draw& draw);

  // The multiprocessors' clock over that of bursts, in 1/1024.
  std::int64_t clock() const { return clock_; }
  // Mean power of the last window, the floor included.
  std::int64_t milliwatts() const { return milliwatts_; }

 private:
  // A bucket sums work at its burst clock over 2^30 ps.
  struct Bucket {
    std::int64_t clocked_nanojoules = 0;  // Of multiprocessors, L2 and the links between them.
    std::int64_t other_nanojoules = 0;    // Of memory chips.
    std::int64_t clocked_ps = 0;          // What goes with the clock, at the burst clock.
    std::int64_t extra_ps = 0;            // What slower clocks have added to it.

    Bucket& operator+=(const Bucket& other);
    Bucket& operator-=(const Bucket& other);
  };
  static constexpr int kBucketBits = 30;
  static constexpr std::int64_t kBucket = std::int64_t{1} << kBucketBits;
  // Buckets behind and before now_ that are kept.
  static constexpr std::int64_t kWindow = 40;
  static constexpr std::int64_t kAhead = 80;
  static constexpr std::size_t kKept = 128;

  void MoveTo(std::int64_t bucket);
  bool IsStarting() const { return begun_ && now_ - begin_.ps / kBucket < kWindow; }
  // The time that the clock looks at.
  std::int64_t LengthPs() const;
  void SkipPause(base::SimTime start);
  void SetClock();
  // Mean power above the floor over the window, had the clock been this.
  std::int64_t PowerAt(std::int64_t clock) const;
  Bucket& At(std::int64_t bucket) { return buckets_[static_cast<std::size_t>(bucket) % kKept]; }

  PowerTraits traits_;
  std::int64_t now_ = 0;
  std::int64_t clock_ = 1024;
  std::int64_t milliwatts_ = 0;
  Bucket window_;  // Sum of the kWindow buckets before now_.
  // While the program starts: when it began, moved by pauses, and all work since then.
  bool begun_ = false;
  base::SimTime begin_;
  Bucket begun_with_;
  base::SimTime end_;  // Of all work so far.
  std::array<Bucket, kKept> buckets_{};
};

}  // namespace eidolon::agent::device
