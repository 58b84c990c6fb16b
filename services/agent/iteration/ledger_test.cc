#include "services/agent/iteration/ledger.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::agent::iteration {
namespace {

using base::SimTime;

SimTime Us(std::int64_t us) { return {us * 1'000'000}; }
const std::vector<Basis> kBases{{.source = estimate::Source::kModelled}};

Interval Work(std::int64_t start, std::int64_t end) { return {.start = Us(start), .end = Us(end)}; }

TEST(LedgerTest, AnIterationEndsWhenItsWorkIsDone) {
  Ledger ledger;
  ledger.Add(0, Work(10, 20));
  ledger.Add(1, Work(20, 100));
  ledger.AddBoundary({.sequence = 2, .host_clock = Us(15)});

  const auto report = ledger.Take(kBases);

  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->start, Us(0));
  EXPECT_EQ(report->end, Us(100));
}

TEST(LedgerTest, AHostThatWaitedForItsWorkSetsTheEnd) {
  Ledger ledger;
  ledger.Add(0, Work(10, 20));
  ledger.AddBoundary({.sequence = 1, .host_clock = Us(70)});

  const auto report = ledger.Take(kBases);

  EXPECT_EQ(report->end, Us(70));
  EXPECT_EQ(report->split.breakdown.host, Us(50) - Us(0));
}

// The host's clock runs from 30 to 100 us, of which it waited 15.
TEST(LedgerTest, AnIterationTellsWhatTheHostWorkedInIt) {
  Ledger ledger;
  ledger.Add(0, Work(10, 20));
  ledger.Add(1, Work(40, 95));
  ledger.AddBoundary({.sequence = 1, .host_clock = Us(30), .waited = Us(5) - Us(0)});
  ledger.AddBoundary({.sequence = 2, .host_clock = Us(100), .waited = Us(20) - Us(0)});

  EXPECT_EQ(ledger.Take(kBases)->host_work, Us(25) - Us(0));
  EXPECT_EQ(ledger.Take(kBases)->host_work, Us(55) - Us(0));
  const Program program =
      ledger.Close({.sequence = 2, .host_clock = Us(110), .waited = Us(21) - Us(0)}, kBases);
  EXPECT_EQ(program.host_work, Us(89) - Us(0));
}

TEST(LedgerTest, WaitsForOpenOperationsAndKeepsTheOrder) {
  Ledger ledger;
  ledger.AddBoundary({.sequence = 2, .host_clock = Us(1)});
  ledger.AddBoundary({.sequence = 3, .host_clock = Us(2)});
  ledger.Add(2, Work(20, 30));
  ledger.Add(1, Work(5, 9));
  ASSERT_FALSE(ledger.Take(kBases).has_value());

  ledger.Add(0, Work(0, 5));

  const auto first = ledger.Take(kBases);
  const auto second = ledger.Take(kBases);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->index, 0u);
  EXPECT_EQ(first->end, Us(9));
  EXPECT_EQ(second->index, 1u);
  EXPECT_EQ(second->start, Us(9));
  EXPECT_EQ(second->end, Us(30));
}

TEST(LedgerTest, ForgetsTheOldestWhenNoBoundaryComes) {
  Ledger ledger;
  const std::uint64_t count = Ledger::kKeptOperations + 10;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    ledger.Add(i, Work(at, at + 1));
  }
  EXPECT_FALSE(ledger.Take(kBases).has_value());
  ledger.AddBoundary({.sequence = count, .host_clock = Us(0)});
  ledger.Add(count, Work(2'000'000, 2'000'001));
  ledger.AddBoundary({.sequence = count + 1, .host_clock = Us(0)});

  const auto report = ledger.Take(kBases);

  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->index, 1u) << "the incomplete iteration counts and is not reported";
  const Program program = ledger.Close({.sequence = count + 1}, kBases);
  EXPECT_EQ(program.end, Us(2'000'001));
  EXPECT_EQ(program.split.times[0].count, count + 1) << "what was forgotten is part of the program";
}

TEST(LedgerTest, AProgramIsAllThatRanWhateverIterationItBelongsTo) {
  Ledger ledger;
  ledger.Add(0, Work(10, 20));
  ledger.Add(1, Work(20, 30));
  ledger.AddBoundary({.sequence = 1, .host_clock = Us(5)});
  ASSERT_TRUE(ledger.Take(kBases).has_value());
  ledger.Add(3, Work(50, 60));
  ledger.Add(2, {.start = Us(40), .end = Us(45), .host_bound = true});

  const Program program = ledger.Close({.sequence = 5, .host_clock = Us(70)}, kBases);

  EXPECT_EQ(program.end, Us(70));
  EXPECT_EQ(program.split.breakdown, (Breakdown{.compute = Us(35) - Us(0),
                                                .exposed_communication = {},
                                                .idle = Us(15) - Us(0),
                                                .host = Us(20) - Us(0)}));
  ASSERT_EQ(program.split.times.size(), 1u);
  EXPECT_EQ(program.split.times[0].count, 4u);
  EXPECT_EQ(program.split.times[0].time, Us(35) - Us(0));
}

TEST(LedgerTest, WhatWasNeverResolvedIsNoPartOfAProgram) {
  Ledger ledger;
  ledger.Add(0, Work(0, 20));
  ledger.Add(2, Work(30, 40));
  ledger.AddBoundary({.sequence = 3, .host_clock = Us(0)});
  ASSERT_FALSE(ledger.Take(kBases).has_value());

  const Program program = ledger.Close({.sequence = 3}, kBases);

  EXPECT_EQ(program.end, Us(40));
  EXPECT_EQ(program.split.times[0].count, 2u);
}

}  // namespace
}  // namespace eidolon::agent::iteration
