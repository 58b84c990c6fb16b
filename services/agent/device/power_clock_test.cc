#include "services/agent/device/power_clock.h"

#include <gtest/gtest.h>

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

constexpr PowerTraits kGpu = {.floor_milliwatts = 200'000, .room_milliwatts = 500'000};
// The work draws at its burst clock twice what there is room for, so that the clock falls to the
// cube root of 1/2.
constexpr Draw kGemm = {.milliwatts = 1'000'000, .clock_share = 1024};
constexpr Draw kCopy = {.milliwatts = 400'000, .clock_share = 0};

// Runs work without pause from `start` on, and answers when it is done.
SimTime Load(PowerClock& clock, SimTime start, int times, Duration burst, const Draw& draw) {
  for (int i = 0; i < times; ++i) {
    const Duration span = clock.Stretch(start, burst, draw);
    clock.Spend(start, span, burst, draw);
    start += span;
  }
  return start;
}

// A GPU that has started and was idle for long.
SimTime Started(PowerClock& clock) {
  const Draw light = {.milliwatts = 1000, .clock_share = 1024};
  const SimTime end = Load(clock, SimTime{}, 500, Duration::Microseconds(100), light);
  return end + Duration::Milliseconds(50);
}

TEST(PowerClockTest, ShortBurstsKeepTheirTime) {
  PowerClock clock(kGpu);
  const SimTime start = Started(clock);
  const SimTime end = Load(clock, start, 100, Duration::Microseconds(100), kGemm);

  EXPECT_EQ(end, start + Duration::Milliseconds(10));
  EXPECT_EQ(clock.clock(), 1024);
}

// Iterations of 4 ms, half of it GEMMs without pause: over the room by half.
constexpr Draw kLoad = {.milliwatts = 1'500'000, .clock_share = 1024};

SimTime Iterate(PowerClock& clock, SimTime start, int times) {
  for (int i = 0; i < times; ++i) {
    start = Load(clock, start, 20, Duration::Microseconds(100), kLoad);
    start += Duration::Milliseconds(2);
  }
  return start;
}

TEST(PowerClockTest, AProgramStartsWithTheClockThatItSettlesAt) {
  PowerClock clock(kGpu);
  const SimTime second = Iterate(clock, SimTime{}, 1);
  const SimTime fifth = Iterate(clock, second, 3);
  const SimTime late = Iterate(clock, fifth, 100);
  const SimTime end = Iterate(clock, late, 10);

  const double settled = double((end - late).ps) / 10;
  EXPECT_GT(settled, 4.2e9);
  EXPECT_NEAR(double((fifth - second).ps) / 3, settled, 0.02 * settled);
}

TEST(PowerClockTest, WhatComesBeforeTheFirstWorkOfTheClockDoesNotCount) {
  PowerClock clock(kGpu);
  PowerClock other(kGpu);
  // Weights are made for a second before the first iteration.
  const SimTime begin = Load(other, SimTime{}, 10'000, Duration::Microseconds(100),
                             {.milliwatts = 100'000, .clock_share = 0}) +
                        Duration::Milliseconds(5);
  const SimTime cold_first = Iterate(clock, SimTime{}, 1);
  const SimTime warm_first = Iterate(other, begin, 1);
  const auto cold = double((Iterate(clock, cold_first, 5) - cold_first).ps);
  const auto warm = double((Iterate(other, warm_first, 5) - warm_first).ps);

  EXPECT_NEAR(warm, cold, 0.02 * cold);
}

TEST(PowerClockTest, AStartingProgramDoesNotCoolDownInALongPause) {
  PowerClock clock(kGpu);
  const SimTime paused = Iterate(clock, SimTime{}, 3) + Duration::Milliseconds(500);
  const SimTime settled = Iterate(clock, paused, 3);

  EXPECT_GT(settled - paused, Duration::Microseconds(12'600));
}

TEST(PowerClockTest, AProgramThatHasStartedCoolsDownInALongPause) {
  PowerClock clock(kGpu);
  const SimTime paused = Iterate(clock, SimTime{}, 50) + Duration::Milliseconds(500);

  EXPECT_EQ(Iterate(clock, paused, 2) - paused, Duration::Milliseconds(8));
}

TEST(PowerClockTest, LoadWithoutPauseSettlesAtTheLimit) {
  PowerClock clock(kGpu);
  const SimTime warm = Load(clock, SimTime{}, 2000, Duration::Microseconds(100), kGemm);
  const SimTime end = Load(clock, warm, 1000, Duration::Microseconds(100), kGemm);

  EXPECT_NEAR(double((end - warm).ps) / 1e11, 1.26, 0.005);  // The cube root of 2.
  EXPECT_LE(clock.milliwatts(), 700'000);
  EXPECT_GE(clock.milliwatts(), 690'000);
}

TEST(PowerClockTest, TheLimitIsReachedAfterSomeFortyMilliseconds) {
  PowerClock clock(kGpu);
  SimTime at = Started(clock);
  int bursts = 0;
  while (clock.clock() == 1024) {
    at = Load(clock, at, 1, Duration::Microseconds(100), kGemm);
    ++bursts;
  }
  // Half of the window's room: see docs/timing_power.md.
  EXPECT_GE(bursts, 200);
  EXPECT_LE(bursts, 240);
}

TEST(PowerClockTest, PausesGiveTheClockBack) {
  PowerClock clock(kGpu);
  SimTime at = Load(clock, SimTime{}, 2000, Duration::Microseconds(100), kGemm);
  ASSERT_LT(clock.clock(), 1000);
  at += Duration::Milliseconds(60);

  EXPECT_EQ(clock.Stretch(at, Duration::Microseconds(100), kGemm), Duration::Microseconds(100));
}

TEST(PowerClockTest, WorkBoundByMemoryKeepsItsTimeBesideOther) {
  PowerClock clock(kGpu);
  const SimTime at = Load(clock, SimTime{}, 2000, Duration::Microseconds(100), kGemm);

  EXPECT_EQ(clock.Stretch(at, Duration::Microseconds(100), kCopy), Duration::Microseconds(100));
  EXPECT_GT(clock.Stretch(at, Duration::Microseconds(100), kGemm), Duration::Microseconds(120));
}

TEST(PowerClockTest, HalfOfTheTimeInPausesLeavesTheBurstClock) {
  PowerClock clock(kGpu);
  SimTime at;
  for (int i = 0; i < 2000; ++i) {
    at = Load(clock, at, 1, Duration::Microseconds(100), kGemm);
    at += Duration::Microseconds(101);
  }
  EXPECT_EQ(clock.clock(), 1024);
}

TEST(PowerClockTest, EnergyIsPowerTimesTimeAndFallsWithTheSquareOfTheClock) {
  PowerClock clock(kGpu);
  // 1 kW for 100 us.
  EXPECT_EQ(clock.Spend(SimTime{}, Duration::Microseconds(100), Duration::Microseconds(100), kGemm),
            100'000u);
  const SimTime at = Load(clock, SimTime{} + Duration::Microseconds(100), 2000,
                          Duration::Microseconds(100), kGemm);
  const Duration span = clock.Stretch(at, Duration::Microseconds(100), kGemm);
  const auto under_limit = double(clock.Spend(at, span, Duration::Microseconds(100), kGemm));

  EXPECT_NEAR(under_limit, 63'000, 600);                     // 2^(-2/3)
  EXPECT_NEAR(under_limit * 1e6 / double(span.ps), 500, 3);  // Watts: the room.
}

// Beside GEMMs half of the time, work bound by memory keeps its time but not its energy: with the
// square of the clock, all but what the memory's chips draw. So GEMMs keep a higher clock.
TEST(PowerClockTest, ALowerClockSavesEnergyOfWorkBoundByMemoryToo) {
  const auto clock_beside = [](const Draw& moving) {
    PowerClock clock(kGpu);
    SimTime at;
    for (int i = 0; i < 1000; ++i) {
      at = Load(clock, at, 1, Duration::Microseconds(100), kGemm);
      at = Load(clock, at, 1, Duration::Microseconds(100), moving);
    }
    return double(clock.clock()) / 1024;
  };

  // (1000 + 600) c^2 = 500 (1 + 1 / c), and with 600 W of memory chips 1000 c^2 + 600 instead.
  EXPECT_NEAR(clock_beside({.milliwatts = 600'000}), 0.830, 0.004);
  EXPECT_NEAR(clock_beside({.milliwatts = 600'000, .memory_milliwatts = 600'000}), 0.752, 0.004);
}

TEST(PowerClockTest, WhatMemoryChipsDrawStaysAtALowerClock) {
  PowerClock clock(kGpu);
  const SimTime at = Load(clock, SimTime{}, 2000, Duration::Microseconds(100), kGemm);
  const Duration span = Duration::Microseconds(100);
  const Draw chips = {.milliwatts = 300'000, .memory_milliwatts = 300'000};

  EXPECT_EQ(clock.Spend(at, span, span, chips), 30'000u);
}

TEST(PowerClockTest, AnOperationOfSecondsCounts) {
  PowerClock clock(kGpu);
  const SimTime at = Load(clock, SimTime{}, 1, Duration::Milliseconds(3000), kGemm);

  EXPECT_GT(clock.Stretch(at, Duration::Microseconds(100), kGemm), Duration::Microseconds(120));
}

TEST(PowerClockTest, WorkThatComesLateToItsTimeCounts) {
  PowerClock clock(kGpu);
  // Another stream's work of the same time is known only afterwards.
  Load(clock, SimTime{}, 400, Duration::Microseconds(100), {.milliwatts = 450'000});
  EXPECT_EQ(clock.clock(), 1024);
  Load(clock, SimTime{}, 400, Duration::Microseconds(100),
       {.milliwatts = 450'000, .clock_share = 1024});

  EXPECT_GT(
      clock.Stretch(SimTime{} + Duration::Milliseconds(42), Duration::Microseconds(100), kGemm),
      Duration::Microseconds(110));
}

TEST(PowerClockTest, WithoutALimitNothingChanges) {
  const PowerClock clock({});

  EXPECT_FALSE(clock.IsLimited());
  EXPECT_EQ(clock.milliwatts(), 0);
}

}  // namespace
}  // namespace eidolon::agent::device
