#include "shim/program/host_time/call_history.h"

#include <gtest/gtest.h>

#include <set>

namespace eidolon::shim::host_time {
namespace {

constexpr std::uint64_t kLaunch = 0x1000, kGetDevice = 0x2000;

TEST(CallHistoryTest, TheSameCallsLeadToTheSamePlaceWhateverCameBefore) {
  CallHistory a, b;
  a.Push(kGetDevice, 77);
  for (std::size_t i = 0; i < CallHistory::kLength; ++i) {
    a.Push(kLaunch, i);
    b.Push(kLaunch, i);
  }

  EXPECT_EQ(a.PlaceBefore(kLaunch), b.PlaceBefore(kLaunch));
  EXPECT_EQ(a.CoarsePlaceBefore(kLaunch), b.CoarsePlaceBefore(kLaunch));
}

TEST(CallHistoryTest, TheNextCallAndEachOfTheLastOnesTellPlacesApart) {
  std::set<std::uint64_t> places;
  for (std::size_t changed = 0; changed <= CallHistory::kLength; ++changed) {
    CallHistory history;
    for (std::size_t i = 0; i < CallHistory::kLength; ++i) {
      history.Push(i == changed ? kGetDevice : kLaunch, 0);
    }
    places.insert(history.PlaceBefore(kLaunch));
    places.insert(history.PlaceBefore(kGetDevice));
  }
  EXPECT_EQ(places.size(), 2 * (CallHistory::kLength + 1));
}

TEST(CallHistoryTest, DetailsTellFinePlacesApartAndCoarseOnesNot) {
  CallHistory a, b;
  a.Push(kLaunch, 1);
  b.Push(kLaunch, 2);

  EXPECT_NE(a.PlaceBefore(kLaunch), b.PlaceBefore(kLaunch));
  EXPECT_EQ(a.CoarsePlaceBefore(kLaunch), b.CoarsePlaceBefore(kLaunch));
}

TEST(CallHistoryTest, NearPlacesGoByTheLastFewCalls) {
  CallHistory a, b;
  a.Push(kGetDevice, 77);
  for (std::size_t i = 0; i < CallHistory::kNearLength; ++i) {
    a.Push(kLaunch, i);
    b.Push(kLaunch, i);
  }
  EXPECT_EQ(a.NearPlaceBefore(kLaunch), b.NearPlaceBefore(kLaunch));
  EXPECT_NE(a.PlaceBefore(kLaunch), b.PlaceBefore(kLaunch));

  for (std::size_t i = 0; i < 2 * CallHistory::kLength; ++i) a.Push(kLaunch, i);
  const std::uint64_t near = a.NearPlaceBefore(kLaunch);
  for (std::size_t i = 0; i < CallHistory::kNearLength; ++i) a.Push(kLaunch, 1000 + i);
  EXPECT_NE(a.NearPlaceBefore(kLaunch), near);
}

TEST(CallHistoryTest, PlacesOfDifferentKindsNeverMeetAndAreNeverZero) {
  CallHistory history;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    history.Push(kLaunch, i * i);
    EXPECT_EQ(history.PlaceBefore(i) % 2, 1u);
    EXPECT_EQ(history.NearPlaceBefore(i) % 4, 2u);
    EXPECT_EQ(history.CoarsePlaceBefore(i) % 4, 0u);
    EXPECT_NE(history.CoarsePlaceBefore(i), 0u);
  }
}

}  // namespace
}  // namespace eidolon::shim::host_time
