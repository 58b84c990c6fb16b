#include "services/agent/clock/standstill.h"

#include <gtest/gtest.h>

namespace eidolon::agent::clock {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(StandstillTest, GrowsUntilSomethingMoves) {
  Standstill standstill(0);
  for (int ms = 100; ms <= 5000; ms += 100) standstill.Pass(ms * kMs);
  EXPECT_EQ(standstill.still_ns(), 5000 * kMs);

  standstill.Move();
  standstill.Pass(5100 * kMs);

  EXPECT_EQ(standstill.still_ns(), 100 * kMs);
}

TEST(StandstillTest, WhatPassesWhileTheAgentItselfIsStoppedDoesNotCount) {
  Standstill standstill(0);
  standstill.Pass(100 * kMs);

  standstill.Pass(600'000 * kMs);

  EXPECT_EQ(standstill.still_ns(), 1100 * kMs);
}

}  // namespace
}  // namespace eidolon::agent::clock
