#include "services/agent/iteration/tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "services/base/random.h"

namespace eidolon::agent::iteration {
namespace {

using base::SimTime;

constexpr std::int64_t kStep = 100;

// Steps of three operations (10, 20 and 30 long) that the host waits for at multiples of 100.
struct Program {
  explicit Program(Rule rule) : tracker(rule) {}

  void IssueStep() {
    for (int i = 0; i < 3; ++i) tracker.Issued(sequence + static_cast<std::uint64_t>(i), 77 + i);
    const std::int64_t begin = static_cast<std::int64_t>(sequence) / 3 * kStep;
    std::int64_t at = begin;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t end = at + 10 * (i + 1);
      open.emplace_back(sequence++, Span{.begin = {at}, .end = {end}, .facts = {}});
      at = end;
    }
  }
  void ResolveAll() {
    for (const auto& [number, span] : open) tracker.Resolved(number, span);
    open.clear();
  }

  Tracker tracker;
  std::uint64_t sequence = 0;
  std::vector<std::pair<std::uint64_t, Span>> open;
};

TEST(TrackerTest, ReportsEachRepetitionWithItsSplit) {
  Program program(Rule::kRepetition);
  program.tracker.Cut({0});
  std::vector<Iteration> found;
  for (int step = 1; step <= 6; ++step) {
    program.IssueStep();
    program.ResolveAll();
    program.tracker.Cut({step * kStep});
    for (Iteration& iteration : program.tracker.TakeNews().iterations) {
      found.push_back(std::move(iteration));
    }
  }

  ASSERT_EQ(found.size(), 6u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].index, i);
    EXPECT_EQ((found[i].end - found[i].begin).ps, kStep);
    EXPECT_EQ(found[i].split.compute.ps, 60);
    EXPECT_EQ(found[i].split.host.ps, 40);
  }
}

TEST(TrackerTest, WaitsForOperationsThatAreStillOpen) {
  Program program(Rule::kRepetition);
  program.tracker.Cut({0});
  for (int step = 1; step <= 4; ++step) {
    program.IssueStep();
    program.tracker.Cut({step * kStep});
  }
  EXPECT_TRUE(program.tracker.TakeNews().iterations.empty());

  program.ResolveAll();

  EXPECT_EQ(program.tracker.TakeNews().iterations.size(), 4u);
}

TEST(TrackerTest, TheOrderOfResolutionDoesNotMatter) {
  base::Random random(5);
  for (int round = 0; round < 20; ++round) {
    Program program(Rule::kRepetition);
    program.tracker.Cut({0});
    for (int step = 1; step <= 5; ++step) {
      program.IssueStep();
      program.tracker.Cut({step * kStep});
    }
    for (std::size_t i = program.open.size(); i > 1; --i) {
      std::swap(program.open[i - 1], program.open[random.Below(i)]);
    }
    program.ResolveAll();

    const auto news = program.tracker.TakeNews();
    ASSERT_EQ(news.iterations.size(), 5u);
    for (const Iteration& iteration : news.iterations) EXPECT_EQ(iteration.split.compute.ps, 60);
  }
}

TEST(TrackerTest, NamedBoundariesBoundIterations) {
  Program program(Rule::kNamed);
  program.tracker.Boundary({0});
  program.IssueStep();
  program.ResolveAll();
  program.tracker.Cut({50});
  program.tracker.Boundary({kStep});

  const auto news = program.tracker.TakeNews();

  ASSERT_EQ(news.iterations.size(), 1u);
  EXPECT_EQ(news.iterations[0].split.Length().ps, kStep);
  EXPECT_EQ(news.iterations[0].split.compute.ps, 60);
}

TEST(TrackerTest, AnOperationThatNeverEndsDoesNotHoldBackReports) {
  Program program(Rule::kNamed);
  program.tracker.Boundary({0});
  program.tracker.Issued(0, 1);
  program.tracker.Boundary({kStep});
  EXPECT_TRUE(program.tracker.TakeNews().iterations.empty());

  program.tracker.Dropped(0);

  EXPECT_EQ(program.tracker.TakeNews().iterations.size(), 1u);
}

}  // namespace
}  // namespace eidolon::agent::iteration
