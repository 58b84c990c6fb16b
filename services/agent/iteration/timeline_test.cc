#include "services/agent/iteration/timeline.h"

#include <gtest/gtest.h>

#include "services/base/random.h"

namespace eidolon::agent::iteration {
namespace {

using base::Duration;
using base::SimTime;

Span Compute(std::int64_t begin, std::int64_t end, bool host_bound = false) {
  return {.begin = {begin}, .end = {end}, .host_bound = host_bound, .facts = {}};
}

Span Communication(std::int64_t begin, std::int64_t end) {
  return {.begin = {begin}, .end = {end}, .host_bound = false, .facts = {.communication = true}};
}

Split Window(std::int64_t begin, std::int64_t end, const std::vector<Span>& spans) {
  return SplitWindow({begin}, {end}, spans);
}

TEST(TimelineTest, CommunicationBesideComputeIsHidden) {
  const Split split = Window(0, 100, {Compute(0, 60), Communication(40, 100)});

  EXPECT_EQ(split.compute.ps, 60);
  EXPECT_EQ(split.exposed_communication.ps, 40);
  EXPECT_EQ(split.idle.ps + split.host.ps, 0);
}

TEST(TimelineTest, AGapBeforeALateLaunchIsTheHosts) {
  const Split split = Window(0, 100, {Compute(0, 20), Compute(50, 100, /*host_bound=*/true)});

  EXPECT_EQ(split.host.ps, 30);
  EXPECT_EQ(split.idle.ps, 0);
}

TEST(TimelineTest, AGapBeforeADependencyIsIdle) {
  EXPECT_EQ(Window(0, 100, {Compute(0, 20), Compute(50, 100)}).idle.ps, 30);
}

TEST(TimelineTest, TimeAfterTheLastOperationIsTheHosts) {
  EXPECT_EQ(Window(0, 100, {Compute(0, 70)}).host.ps, 30);
  EXPECT_EQ(Window(0, 100, {}).host.ps, 100);
}

TEST(TimelineTest, OnlyWhatLiesInTheWindowCounts) {
  const Split split = Window(50, 100, {Compute(0, 60), Compute(90, 200)});

  EXPECT_EQ(split.compute.ps, 20);
  EXPECT_EQ(split.busy[static_cast<int>(Source::kModelled)].ps, 20);
}

TEST(TimelineTest, ErrorsOfOneFamilyGoTogetherAndFamiliesDoNot) {
  Span one = Compute(0, 1'000'000), two = Compute(1'000'000, 2'000'000);
  one.facts.relative_error = two.facts.relative_error = 0.1F;
  EXPECT_NEAR(static_cast<double>(Window(0, 2'000'000, {one, two}).Error().ps), 200'000, 10);

  two.facts.family = 1;
  EXPECT_NEAR(static_cast<double>(Window(0, 2'000'000, {one, two}).Error().ps), 141'421, 10);
}

TEST(TimelineTest, AssumedTimeIsListedByName) {
  Span span = Compute(0, 10);
  span.facts.source = Source::kAssumed;
  span.facts.name = 7;

  EXPECT_EQ(Window(0, 10, {span}).assumed.at(7).ps, 10);
}

TEST(TimelineTest, TheFourPartsAlwaysAddUpToTheWindow) {
  base::Random random(11);
  for (int round = 0; round < 200; ++round) {
    std::vector<Span> spans;
    for (int i = 0; i < 30; ++i) {
      const auto begin = static_cast<std::int64_t>(random.Below(1000));
      const auto end = begin + static_cast<std::int64_t>(random.Below(100));
      spans.push_back(random.Below(2) == 0 ? Compute(begin, end, random.Below(2) == 0)
                                           : Communication(begin, end));
    }
    EXPECT_EQ(Window(100, 900, spans).Length().ps, 800) << "round " << round;
  }
}

}  // namespace
}  // namespace eidolon::agent::iteration
