#include "services/agent/iteration/repetition.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace eidolon::agent::iteration {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;

// Feeds a program: letters are launches, '|' is a wait. Returns the iterations as pairs of cut
// numbers; a restart empties the list first.
std::vector<Pair> IterationsOf(Repetition& repetition, std::string_view program) {
  std::vector<Pair> found;
  const auto take = [&](const std::optional<Repetition::Match>& match) {
    if (!match) return;
    if (match->restarts) found.clear();
    for (std::size_t i = 1; i < match->boundaries.size(); ++i) {
      found.emplace_back(match->boundaries[i - 1], match->boundaries[i]);
    }
  };
  for (const char c : program) {
    if (c == '|') {
      take(repetition.AddCut());
    } else {
      repetition.AddLaunch(static_cast<std::uint64_t>(c));
    }
  }
  take(repetition.Finish());
  return found;
}

std::vector<Pair> IterationsOf(std::string_view program) {
  Repetition repetition;
  return IterationsOf(repetition, program);
}

TEST(RepetitionTest, FindsStepsThatEndWithAWait) {
  EXPECT_EQ(IterationsOf("init|abcd|abcd|abcd|abcd|"),
            (std::vector<Pair>{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(RepetitionTest, LayersThatRepeatWithoutWaitingAreNoSteps) {
  EXPECT_EQ(IterationsOf("|llllllllo|llllllllo|llllllllo|").size(), 3u);
}

TEST(RepetitionTest, AFirstStepThatDiffersIsNotCounted) {
  EXPECT_EQ(IterationsOf("|tune-abc|abc|abc|abc|"), (std::vector<Pair>{{1, 2}, {2, 3}, {3, 4}}));
}

TEST(RepetitionTest, AStepWithSeveralWaitsIsOneIteration) {
  EXPECT_EQ(IterationsOf("|ab|cd|ab|cd|ab|cd|"), (std::vector<Pair>{{0, 2}, {2, 4}, {4, 6}}));
}

TEST(RepetitionTest, AnIrregularStepIsLeftOutAndTheRestGoesOn) {
  const auto found = IterationsOf("|abc|abc|abc|abc-log|abc|abc|abc|");

  EXPECT_EQ(found, (std::vector<Pair>{{0, 1}, {1, 2}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}));
}

TEST(RepetitionTest, WaitsInsideLayersAreCorrectedOnceTheStepRepeats) {
  const std::string_view step = "l|l|l|l|o|";
  std::string program = "|";
  for (int i = 0; i < 4; ++i) program += step;

  const auto found = IterationsOf(program);

  ASSERT_FALSE(found.empty());
  for (const auto& [first, last] : found) EXPECT_EQ(last - first, 5u);
}

TEST(RepetitionTest, WaitsWithoutLaunchesInBetweenAreOneCut) {
  EXPECT_EQ(IterationsOf("|ab|||ab|||ab|||"), (std::vector<Pair>{{0, 1}, {1, 4}, {4, 7}}));
}

TEST(RepetitionTest, TwoRepetitionsAreEnoughWhenTheProgramEnds) {
  EXPECT_EQ(IterationsOf("x|abc|abc|end"), (std::vector<Pair>{{0, 1}, {1, 2}}));
}

TEST(RepetitionTest, AProgramThatNeverRepeatsHasNoIterations) {
  EXPECT_TRUE(IterationsOf("|a|bb|ccc|dddd|").empty());
  EXPECT_TRUE(IterationsOf("").empty());
}

TEST(RepetitionTest, LongHistoriesAreForgottenAndStepsStillFound) {
  Repetition repetition;
  std::size_t iterations = 0;
  repetition.AddCut();
  for (int step = 0; step < 60; ++step) {
    for (std::uint64_t i = 0; i < 100'000; ++i) repetition.AddLaunch(i);
    if (const auto match = repetition.AddCut()) iterations += match->boundaries.size() - 1;
  }
  EXPECT_EQ(iterations, 60u);
}

}  // namespace
}  // namespace eidolon::agent::iteration
