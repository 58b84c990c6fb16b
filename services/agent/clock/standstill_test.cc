#include "services/agent/clock/standstill.h"

#include <gtest/gtest.h>

namespace eidolon::agent::clock {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

TEST(StandstillTest, GrowsUntilSomethingMoves) {
  Standstill standstill(0);
  for (int ms = 100; ms <= 5000; ms += 100) standstill.Pass(ms * kMillisecond);
  EXPECT_EQ(standstill.still_ns(), 5000 * kMillisecond);

  standstill.Move();
  standstill.Pass(5100 * kMillisecond);

  EXPECT_EQ(standstill.still_ns(), 100 * kMillisecond);
}

TEST(StandstillTest, WhatPassesWhileTheAgentItselfIsStoppedDoesNotCount) {
  Standstill standstill(0);
  standstill.Pass(100 * kMillisecond);

  standstill.Pass(600'000 * kMillisecond);

  EXPECT_EQ(standstill.still_ns(), 200 * kMillisecond);
}

TEST(StandstillTest, AnOwnerThatABusyMachineKeepsFromRunningCountsLittle) {
  Standstill standstill(0);

  for (int second = 1; second <= 10; ++second) standstill.Pass(second * 1000 * kMillisecond);

  EXPECT_EQ(standstill.still_ns(), 1000 * kMillisecond);
}

}  // namespace
}  // namespace eidolon::agent::clock
