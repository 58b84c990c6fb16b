#include "services/agent/device/load_history.h"

#include <gtest/gtest.h>

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;

SimTime At(std::int64_t microseconds) { return SimTime{} + Duration::Microseconds(microseconds); }

TEST(LoadHistoryTest, EnergyIsExactOnceAllWorkHasEnded) {
  LoadHistory history;
  for (int i = 0; i < 1000; ++i) {
    history.Add({.start = At(70 * i), .end = At(70 * i + 60), .microjoules = 41}, At(i));
  }

  EXPECT_EQ(history.Before(At(70 * 999 + 60)).microjoules, 41'000u);
  EXPECT_EQ(history.Before(At(1'000'000)).busy_ps, Duration::Microseconds(60'000).ps);
}

TEST(LoadHistoryTest, WorkThatAHostHasQueuedIsNotSpentYet) {
  LoadHistory history;
  for (int i = 0; i < 1000; ++i) {
    history.Add({.start = At(100 * i), .end = At(100 * (i + 1)), .microjoules = 50}, At(0));
  }

  EXPECT_EQ(history.Before(At(0)).microjoules, 0u);
  EXPECT_NEAR(double(history.Before(At(50'000)).microjoules), 25'000, 60);
  EXPECT_NEAR(double(history.Before(At(50'000)).busy_ps), 5e10, 1e8);
}

TEST(LoadHistoryTest, WorkOfSeveralStreamsIsBusyOnce) {
  LoadHistory history;
  history.Add({.start = At(0), .end = At(100), .memory = 512}, At(0));
  history.Add({.start = At(50), .end = At(150), .memory = 512}, At(0));

  EXPECT_EQ(history.Before(At(200)).busy_ps, Duration::Microseconds(150).ps);
  EXPECT_EQ(history.Before(At(200)).memory_ps, Duration::Microseconds(100).ps);
}

TEST(LoadHistoryTest, TheClockIsThatOfTheWorkAndComesBackAfterIt) {
  LoadHistory history;
  history.Add({.start = At(0), .end = At(10'000), .clock = 1024}, At(0));
  history.Add({.start = At(10'000), .end = At(20'000), .clock = 900}, At(0));

  EXPECT_EQ(history.ClockAt(At(5'000)), 1024);
  EXPECT_EQ(history.ClockAt(At(15'000)), 900);
  EXPECT_EQ(history.ClockAt(At(30'000)), 900);
  EXPECT_EQ(history.ClockAt(At(80'000)), 1024);
  EXPECT_EQ(history.Before(At(30'000)).slowed_ps, Duration::Microseconds(10'000).ps);
}

TEST(LoadHistoryTest, TheCounterNeverFallsAlthoughWorkOfTheSameBucketFollows) {
  LoadHistory history;
  history.Add({.start = At(0), .end = At(300), .microjoules = 300'000}, At(0));
  EXPECT_EQ(history.Before(At(310)).microjoules, 300'000u);

  history.Add({.start = At(400), .end = At(1000), .microjoules = 10}, At(310));

  EXPECT_EQ(history.Before(At(450)).microjoules, 300'000u);
  EXPECT_EQ(history.Before(At(1000)).microjoules, 300'010u);
}

TEST(LoadHistoryTest, MemoryIsBoundedHoweverLongWorkLastsOrPauses) {
  LoadHistory history;
  const SimTime day = At(std::int64_t{86'400} * 1'000'000);
  history.Add({.start = At(0), .end = day, .microjoules = 1000}, At(0));
  EXPECT_EQ(history.Before(day).microjoules, 1000u);

  history.Add({.start = day, .end = day + Duration::Microseconds(5), .microjoules = 7}, day);

  EXPECT_EQ(history.Before(day).microjoules, 1000u);
  EXPECT_EQ(history.Before(day + Duration::Microseconds(5)).microjoules, 1007u);
}

TEST(LoadHistoryTest, TimeEndsWithoutHarm) {
  LoadHistory history;
  history.Add({.start = SimTime{SimTime::Max().ps - 5}, .end = SimTime::Max(), .microjoules = 9},
              At(0));
  history.Add({.start = At(0), .end = SimTime::Max(), .microjoules = 100}, At(0));

  EXPECT_EQ(history.Before(SimTime::Max()).microjoules, 100u);
  EXPECT_LE(history.Before(At(5'000'000)).microjoules, 100u);
}

}  // namespace
}  // namespace eidolon::agent::device
