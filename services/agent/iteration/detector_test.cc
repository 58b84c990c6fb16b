#include "services/agent/iteration/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace eidolon::agent::iteration {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Feeds launches; identities are small numbers, 900 and up are updates.
class DetectorTest : public ::testing::Test {
 protected:
  void Launches(std::uint32_t from, std::uint32_t count, std::uint32_t repeat = 1) {
    for (std::uint32_t r = 0; r < repeat; ++r) {
      for (std::uint32_t i = 0; i < count; ++i) Feed(from + i, Update::kNo);
    }
  }
  void Adam(std::uint32_t identity = 900, std::uint32_t alike = 0) {
    Feed(identity, Update::kYes, alike);
  }
  void MultiTensor() { Feed(800, Update::kPerhaps); }
  // `alike`: 0 for what is like nothing else.
  void Feed(std::uint32_t identity, Update update, std::uint32_t alike = 0) {
    detector_.Feed({.identity = identity,
                    .alike = alike != 0 ? alike : identity,
                    .kind = identity % 1000,
                    .device = device_,
                    .update = update,
                    .mark = {.sequence = next_++}});
  }
  // A training step of 4 layers: forward, backward, optimizer in two kernels.
  void Step() {
    steps_.push_back(next_);
    Launches(10, 8, 4);
    Launches(30, 16, 4);
    Adam();
    Adam();
  }
  // Ends the program; returns where iterations ended.
  std::vector<std::uint64_t> Finish(ProgramEnd how = ProgramEnd::kWell) {
    detector_.Finish({.sequence = next_}, how);
    return Boundaries();
  }
  std::vector<std::uint64_t> Boundaries() {
    std::vector<std::uint64_t> result;
    for (const Mark& mark : detector_.TakeBoundaries()) result.push_back(mark.sequence);
    return result;
  }

  Detector detector_;
  std::uint64_t next_ = 0;
  std::uint32_t device_ = 0;          // What is launched next runs there.
  std::vector<std::uint64_t> steps_;  // Where each step began.
};

TEST_F(DetectorTest, EndsIterationsWithTheOptimizer) {
  Launches(1, 5, 20);
  for (int i = 0; i < 4; ++i) Step();

  const auto ends = Finish();

  EXPECT_THAT(ends, ElementsAre(steps_[1], steps_[2], steps_[3], next_));
}

TEST_F(DetectorTest, TellsWhileTheProgramRuns) {
  for (int i = 0; i < 3; ++i) Step();
  EXPECT_THAT(Boundaries(), ElementsAre(steps_[1], steps_[2]));

  Step();

  EXPECT_THAT(Boundaries(), ElementsAre(steps_[3])) << "before the fourth step has ended";
}

TEST_F(DetectorTest, AccumulatedMicroBatchesAreOneIteration) {
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 3; ++i) {
    begins.push_back(next_);
    for (int micro = 0; micro < 8; ++micro) Launches(10, 30, 2);
    Adam();
  }

  EXPECT_THAT(Finish(), ElementsAre(begins[1], begins[2], next_));
}

TEST_F(DetectorTest, LoggingEveryFewStepsDoesNotMatter) {
  for (int i = 0; i < 6; ++i) {
    Step();
    if (i % 3 == 2) Launches(500, 12);
  }

  const auto ends = Finish();

  ASSERT_EQ(ends.size(), 6u);
  EXPECT_EQ(ends[0], steps_[1]);
}

TEST_F(DetectorTest, ShortGapsInsideTheOptimizerAreNoIterations) {
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 3; ++i) {
    begins.push_back(next_);
    Launches(10, 60, 3);
    for (int group = 0; group < 10; ++group) {
      Adam();
      Launches(300, 4);
    }
  }

  const auto ends = Finish();

  // The four launches behind the last group cannot be told from the next step's.
  EXPECT_THAT(ends, ElementsAre(begins[1] - 4, begins[2] - 4, next_ - 4));
}

TEST_F(DetectorTest, TwoOptimizersThatTakeTurnsAreOneIteration) {
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 4; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    Adam(900);
    Launches(100, 40);
    Adam(901);
  }

  EXPECT_THAT(Finish(), ElementsAre(begins[1], begins[2], begins[3], next_));
}

TEST_F(DetectorTest, AFirstStepThatDiffersHidesNoRepetition) {
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 11; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    EXPECT_THAT(Boundaries(), ElementsAre()) << i;
    Adam(i == 0 ? 901 : 900);
  }

  // Nine that are equal: a period up to 8 would have brought the first one back.
  EXPECT_THAT(Boundaries(), ElementsAreArray(begins.begin() + 1, begins.end()));
}

TEST_F(DetectorTest, TurnsBehindAStepThatDiffersBeginWhereTheyRepeat) {
  Launches(10, 50);
  Adam(902);
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 6; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    Adam(900);
    Launches(100, 40);
    Adam(901);
  }

  EXPECT_THAT(Finish(),
              ElementsAre(begins[0], begins[1], begins[2], begins[3], begins[4], begins[5], next_));
}

// The optimizers of bitsandbytes do this: they are given the number of the step.
TEST_F(DetectorTest, UpdatesThatDifferInEveryStepAreToldByWhatTheyAreAlikeTo) {
  std::vector<std::uint64_t> begins;
  for (std::uint32_t i = 0; i < 10; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    EXPECT_THAT(Boundaries(), ElementsAre()) << i;
    Adam(1000 + i, 900);
  }

  EXPECT_THAT(Boundaries(), ElementsAreArray(begins.begin() + 1, begins.end()));
}

TEST_F(DetectorTest, OptimizersThatTakeTurnsAndDifferInEveryStepStayApart) {
  std::vector<std::uint64_t> begins;
  for (std::uint32_t i = 0; i < 8; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    Adam(1000 + i, 900);
    Launches(100, 40);
    Adam(2000 + i, 901);
  }

  EXPECT_THAT(Finish(), ElementsAre(begins[1], begins[2], begins[3], begins[4], begins[5],
                                    begins[6], begins[7], next_));
}

TEST_F(DetectorTest, EqualUpdatesCountMoreThanAlikeOnes) {
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 4; ++i) {
    begins.push_back(next_);
    Launches(10, 50);
    Adam(900, 900);
    Launches(100, 40);
    Adam(901, 900);  // Of other tensors, in as many blocks.
  }

  EXPECT_THAT(Finish(), ElementsAre(begins[1], begins[2], begins[3], next_));
}

TEST_F(DetectorTest, MultiTensorKernelsServeUntilARealOptimizerShows) {
  for (int i = 0; i < 3; ++i) {
    steps_.push_back(next_);
    for (int layer = 0; layer < 4; ++layer) {
      Launches(10, 8);
      if (i > 0) continue;
      MultiTensor();
    }
    Launches(30, 40);
    Adam();
  }

  EXPECT_THAT(Finish(), ElementsAre(steps_[1], steps_[2], next_));
}

TEST_F(DetectorTest, AutotuningBeforeTheFirstStepDoesNotMatter) {
  for (std::uint32_t candidate = 0; candidate < 100; ++candidate) {
    Launches(2000 + 3 * candidate, 3, 100);  // Flush the cache, restore an input, run.
  }
  for (int i = 0; i < 4; ++i) Step();

  EXPECT_THAT(Finish(), ElementsAre(steps_[1], steps_[2], steps_[3], next_));
}

TEST_F(DetectorTest, ASingleStepIsOneIteration) {
  Step();

  EXPECT_THAT(Finish(), ElementsAre(next_));
}

TEST_F(DetectorTest, WhatAProgramDoesBeforeItExitsIsInNoIteration) {
  for (int i = 0; i < 3; ++i) {
    Launches(10, 40);
    const base::SimTime now = base::SimTime{} + base::Duration::Microseconds(i + 1);
    detector_.Feed({.identity = 900,
                    .update = Update::kYes,
                    .mark = {.sequence = next_++, .host_clock = now}});
  }

  detector_.Finish(
      {.sequence = next_ + 7, .host_clock = base::SimTime{} + base::Duration::Milliseconds(4000)},
      ProgramEnd::kWell);

  const std::vector<Mark> ends = detector_.TakeBoundaries();
  ASSERT_EQ(ends.size(), 3u);
  EXPECT_EQ(ends.back().sequence, next_);
  EXPECT_EQ(ends.back().host_clock, base::SimTime{} + base::Duration::Microseconds(3));
}

TEST_F(DetectorTest, FindsTheRepetitionOfAProgramWithoutUpdates) {
  Launches(1000, 40);
  std::vector<std::uint64_t> begins;
  for (int i = 0; i < 10; ++i) {
    begins.push_back(next_);
    Launches(10, 6, 4);
    Launches(50, 20);
  }

  const auto ends = Finish();

  ASSERT_GE(ends.size(), 9u);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    EXPECT_EQ(ends[i] - ends[i - 1], 44u) << i;
  }
}

TEST_F(DetectorTest, WhatRepeatsUntilAProgramFailsIsNoIteration) {
  for (int layer = 0; layer < 10; ++layer) Launches(10, 6);

  EXPECT_THAT(Finish(ProgramEnd::kFailed), ::testing::IsEmpty());
}

TEST_F(DetectorTest, StepsBeforeAFailureAreIterations) {
  for (int i = 0; i < 4; ++i) Step();
  Launches(10, 8, 2);

  EXPECT_EQ(Finish(ProgramEnd::kFailed).size(), 4u);
}

TEST_F(DetectorTest, LayersOfOneForwardPassAreNoIterations) {
  Launches(1000, 10, 3);
  Launches(10, 6, 12);
  EXPECT_THAT(Boundaries(), ElementsAre());
}

TEST_F(DetectorTest, WhatComesBehindALoopThatMeetsTheHostIsNoPartOfIt) {
  Launches(1000, 50);
  std::vector<std::uint64_t> starts;
  for (int i = 0; i < 4; ++i) {
    starts.push_back(next_);
    Launches(10, 6, 4);
    Launches(50, 20);
    detector_.NoteWait();
  }
  const std::uint64_t end = next_;
  Launches(2000, 3);

  EXPECT_THAT(Finish(), ElementsAre(starts[0], starts[1], starts[2], starts[3], end));
}

TEST_F(DetectorTest, TurnsOfGrowingSizesRepeatByTheirKinds) {
  Launches(500, 60);
  std::vector<std::uint64_t> starts;
  for (std::uint32_t i = 0; i < 5; ++i) {
    starts.push_back(next_);
    Launches(10, 30);
    Launches(1000 * (i + 1) + 90, 5);
    Launches(10, 30);
    detector_.NoteWait();
  }
  const std::uint64_t end = next_;
  Launches(700, 2);

  EXPECT_THAT(Finish(), ElementsAre(starts[0], starts[1], starts[2], starts[3], starts[4], end));
}

TEST_F(DetectorTest, LayersAreNoTurnsWhateverComesBehindThem) {
  Launches(1000, 10);
  Launches(10, 6, 12);
  Launches(2000, 3);

  EXPECT_THAT(Finish(), ElementsAre());
}

TEST_F(DetectorTest, LayersThatMeetTheHostAreNoTurnsWhenMuchComesBehindThem) {
  Launches(1000, 10);
  for (int i = 0; i < 12; ++i) {
    Launches(10, 60);
    detector_.NoteWait();
  }
  Launches(2000, 8);

  EXPECT_THAT(Finish(), ElementsAre());
}

TEST_F(DetectorTest, EqualLayersWithinAPeriodDoNotBeginIt) {
  std::vector<std::uint64_t> starts;
  for (int i = 0; i < 6; ++i) {
    starts.push_back(next_);
    Launches(10, 5, 4);
    Launches(50, 7);
  }

  EXPECT_THAT(Finish(), ElementsAre(starts[1], starts[2], starts[3], starts[4], starts[5], next_));
}

TEST_F(DetectorTest, EqualWorkOfAllGpusIsOneTurn) {
  std::vector<std::uint64_t> starts;
  for (std::uint32_t i = 0; i < 5; ++i) {
    starts.push_back(next_);
    for (device_ = 0; device_ < 2; ++device_) Launches(10, 20);
  }

  EXPECT_THAT(Finish(), ElementsAre(starts[1], starts[2], starts[3], starts[4], next_));
}

TEST_F(DetectorTest, GpusThatAThreadEachDrivesRepeatByThemselves) {
  Launches(1000, 40);
  std::vector<std::uint64_t> starts;
  for (std::uint32_t i = 0; i < 8; ++i) {
    // Each time the second GPU is ahead by another number of launches.
    const std::uint32_t ahead = (5 * i) % 8;
    starts.push_back(next_);
    device_ = 1;
    Launches(10, ahead);
    device_ = 0;
    Launches(10, 20);
    device_ = 1;
    Launches(10 + ahead, 20 - ahead);
    device_ = 0;
    Feed(60, Update::kNo);
    detector_.NoteWait();
  }

  const auto ends = Finish();

  ASSERT_EQ(ends.size(), 9u);
  EXPECT_THAT(std::vector(ends.begin(), ends.end() - 1), ElementsAreArray(starts));
  EXPECT_EQ(ends.back(), next_);
}

TEST_F(DetectorTest, AProgramThatRepeatsNothingHasNoIterations) {
  Launches(1000, 100);
  detector_.NoteWait();
  Launches(2000, 100);
  detector_.NoteWait();
  Launches(3000, 7);

  EXPECT_THAT(Finish(), ElementsAre());
}

TEST(UpdateTest, KnowsOptimizersByName) {
  EXPECT_EQ(UpdateOf("_ZN2at6native25multi_tensor_apply_kernelINS0_20FusedAdamMathFunctorE"),
            Update::kYes);
  EXPECT_EQ(UpdateOf("_ZN2at6native25multi_tensor_apply_kernelINS1_15PointwiseOpE"),
            Update::kPerhaps);
  EXPECT_EQ(UpdateOf("_ZN2at6native25multi_tensor_apply_kernelINS1_4CopyE"), Update::kNo);
  EXPECT_EQ(UpdateOf("vectorized_elementwise_kernel"), Update::kNo);
}

}  // namespace
}  // namespace eidolon::agent::iteration
