#include "services/agent/timeline/recorder.h"

#include <gtest/gtest.h>

namespace eidolon::agent::timeline {
namespace {

using base::SimTime;

// Each iteration has three operations of 10 ps, and each operation has a call.
class RecorderTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kOperations = 3;

  void Iterate(Recorder* recorder, std::uint32_t index) {
    for (std::uint64_t i = 0; i < kOperations; ++i) Operate(recorder, index * kOperations + i);
    recorder->EndIteration(ReportOf(index));
  }
  void Operate(Recorder* recorder, std::uint64_t sequence) {
    const auto time = static_cast<std::int64_t>(sequence) * 10;
    recorder->NoteCall(HostCall::kLaunch, {.sequence = sequence, .host_clock = SimTime{time}}, 1);
    recorder->NoteOperation({.sequence = sequence,
                             .stream = 7,
                             .device = 0,
                             .kind = device::OpKind::kWork,
                             .host_bound = false,
                             .tag = 0,
                             .ready = SimTime{time},
                             .start = SimTime{time},
                             .finish = SimTime{time + 10}});
  }
  static iteration::Report ReportOf(std::uint32_t index) {
    return {.index = index,
            .sequence_begin = index * kOperations,
            .sequence_end = (index + 1) * kOperations,
            .start = SimTime{index * 30},
            .end = SimTime{(index + 1) * 30},
            .split = {}};
  }
};

TEST_F(RecorderTest, KeepsTheWantedIterationsAlone) {
  Recorder recorder({.first = 1, .iterations = 2, .operations_max = 100});

  for (std::uint32_t index = 0; index < 5; ++index) Iterate(&recorder, index);
  recorder.Close(15, SimTime{150});

  ASSERT_EQ(recorder.windows().size(), 2u);
  EXPECT_EQ(recorder.windows()[0].index, 1u);
  EXPECT_EQ(recorder.windows()[1].end, 9u);
  EXPECT_EQ(recorder.Find(2), nullptr);
  ASSERT_NE(recorder.Find(3), nullptr);
  EXPECT_EQ(recorder.Find(8)->finish, SimTime{90});
  EXPECT_EQ(recorder.Find(9), nullptr);
  EXPECT_EQ(recorder.host_events().size(), 6u);
  EXPECT_EQ(recorder.CountLeftOut(), 0u);
}

TEST_F(RecorderTest, AnIterationWhoseEndIsFoundLateIsWhole) {
  Recorder recorder({.first = 1, .iterations = 1, .operations_max = 100});

  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) Operate(&recorder, sequence);
  recorder.EndIteration(ReportOf(0));
  recorder.EndIteration(ReportOf(1));
  recorder.Close(20, SimTime{200});

  ASSERT_EQ(recorder.windows().size(), 1u);
  EXPECT_NE(recorder.Find(3), nullptr);
  EXPECT_EQ(recorder.Find(6), nullptr);
  EXPECT_EQ(recorder.host_events().size(), 3u);
  EXPECT_EQ(recorder.CountLeftOut(), 0u);
}

TEST_F(RecorderTest, ForgetsTheOldestBeforeTheWantedIterationsAndCountsWhatItMissesOfThem) {
  Recorder recorder({.first = 0, .iterations = 2, .operations_max = 4});

  Iterate(&recorder, 0);
  Iterate(&recorder, 1);
  recorder.Close(6, SimTime{60});

  EXPECT_NE(recorder.Find(0), nullptr);
  EXPECT_NE(recorder.Find(3), nullptr);
  EXPECT_EQ(recorder.Find(4), nullptr);
  EXPECT_EQ(recorder.CountLeftOut(), 2u);
}

TEST_F(RecorderTest, ALongStartOfTheProgramDoesNotCrowdOutTheIteration) {
  Recorder recorder({.first = 1, .iterations = 1, .operations_max = 8});

  constexpr std::uint64_t kStart = 1'000'000;
  for (std::uint64_t sequence = 0; sequence < kStart + 8; ++sequence) Operate(&recorder, sequence);
  recorder.EndIteration({.index = 0, .sequence_end = kStart, .start = {}, .end = {}, .split = {}});
  recorder.EndIteration({.index = 1,
                         .sequence_begin = kStart,
                         .sequence_end = kStart + 4,
                         .start = {},
                         .end = {},
                         .split = {}});
  recorder.Close(kStart + 8, SimTime{10'000});

  EXPECT_NE(recorder.Find(kStart), nullptr);
  EXPECT_NE(recorder.Find(kStart + 3), nullptr);
  EXPECT_EQ(recorder.Find(kStart + 4), nullptr);
  EXPECT_EQ(recorder.host_events().size(), 4u);
  EXPECT_EQ(recorder.CountLeftOut(), 0u);
}

TEST_F(RecorderTest, AnIterationLongerThanTheRuleShowsItsBeginning) {
  Recorder recorder({.first = 1, .iterations = 1, .operations_max = 2});

  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) Operate(&recorder, sequence);
  recorder.EndIteration(ReportOf(0));
  recorder.EndIteration(ReportOf(1));
  recorder.Close(20, SimTime{200});

  EXPECT_NE(recorder.Find(3), nullptr);
  EXPECT_NE(recorder.Find(4), nullptr);
  EXPECT_EQ(recorder.Find(5), nullptr);
  EXPECT_EQ(recorder.CountLeftOut(), 1u);
}

TEST_F(RecorderTest, AProgramWithoutIterationsIsShownWhole) {
  Recorder recorder({.first = 3, .iterations = 1, .operations_max = 100});

  for (std::uint64_t sequence = 0; sequence < 5; ++sequence) Operate(&recorder, sequence);
  recorder.Close(5, SimTime{77});

  ASSERT_EQ(recorder.windows().size(), 1u);
  EXPECT_FALSE(recorder.windows()[0].index.has_value());
  EXPECT_EQ(recorder.windows()[0].finish, SimTime{77});
  EXPECT_NE(recorder.Find(0), nullptr);
}

TEST_F(RecorderTest, ACallLastsSinceTheHostWasFreeAndAWaitUntilItsAnswer) {
  Recorder recorder({.first = 0, .iterations = 1, .operations_max = 100});

  recorder.NoteCall(HostCall::kLaunch, {.sequence = 0, .host_clock = SimTime{5}}, 1);
  recorder.NoteWait(HostCall::kSynchronizeStream, SimTime{8},
                    {.sequence = 1, .host_clock = SimTime{20}}, /*line=*/0);
  recorder.NoteCall(HostCall::kLaunch, {.sequence = 1, .host_clock = SimTime{23}}, 1);
  recorder.Close(2, SimTime{30});

  ASSERT_EQ(recorder.host_events().size(), 3u);
  EXPECT_EQ(recorder.host_events()[0].begin, SimTime{0});
  EXPECT_EQ(recorder.host_events()[1].begin, SimTime{8});
  EXPECT_EQ(recorder.host_events()[1].end, SimTime{20});
  EXPECT_EQ(recorder.host_events()[2].begin, SimTime{20});
}

TEST_F(RecorderTest, ACallWasMadeAtTheLineSetLastAndAWaitWhereItAsked) {
  Recorder recorder({.first = 0, .iterations = 1, .operations_max = 100});

  recorder.NoteCall(HostCall::kLaunch, {.sequence = 0, .host_clock = SimTime{5}}, 1);
  recorder.DefineLine(1, "train.py:40 in step");
  recorder.DefineLine(2, "train.py:41 in step");
  recorder.SetLine(2);
  const std::uint32_t asked_at = recorder.line();
  recorder.SetLine(1);
  recorder.NoteCall(HostCall::kLaunch, {.sequence = 1, .host_clock = SimTime{9}}, 1);
  recorder.NoteWait(HostCall::kSynchronizeStream, SimTime{8},
                    {.sequence = 1, .host_clock = SimTime{20}}, asked_at);
  recorder.SetLine(std::uint64_t{1} << 40);  // Whatever a damaged process says.
  recorder.DefineLine(std::uint64_t{1} << 40, "nowhere");
  recorder.NoteCall(HostCall::kLaunch, {.sequence = 2, .host_clock = SimTime{21}}, 1);
  recorder.Close(3, SimTime{30});

  const auto& events = recorder.host_events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(recorder.LineOf(events[0]), nullptr);
  EXPECT_EQ(*recorder.LineOf(events[1]), "train.py:40 in step");
  EXPECT_EQ(*recorder.LineOf(events[2]), "train.py:41 in step");
  EXPECT_EQ(recorder.LineOf(events[3]), nullptr);
}

TEST_F(RecorderTest, RangesEndInTheirOrderOrByTheirNumber) {
  Recorder recorder({.first = 0, .iterations = 1, .operations_max = 100});

  recorder.OpenRange(0, "outer", SimTime{1});
  recorder.OpenRange(9, "loose", SimTime{2});
  recorder.OpenRange(0, "inner", SimTime{3});
  recorder.CloseRange(0, {.sequence = 0, .host_clock = SimTime{4}});
  recorder.CloseRange(0, {.sequence = 0, .host_clock = SimTime{5}});
  recorder.CloseRange(9, {.sequence = 0, .host_clock = SimTime{6}});
  recorder.CloseRange(0, {.sequence = 0, .host_clock = SimTime{7}});  // Of nothing.
  recorder.Close(0, SimTime{10});

  ASSERT_EQ(recorder.ranges().size(), 3u);
  EXPECT_EQ(recorder.ranges()[0].name, "inner");
  EXPECT_EQ(recorder.ranges()[1].name, "outer");
  EXPECT_EQ(recorder.ranges()[1].begin, SimTime{1});
  EXPECT_EQ(recorder.ranges()[2].name, "loose");
  EXPECT_EQ(recorder.ranges()[2].end, SimTime{6});
}

TEST_F(RecorderTest, WhatWasBookedBeforeTheIterationIsKept) {
  Recorder recorder({.first = 1, .iterations = 1, .operations_max = 100});

  recorder.NoteMemory({.device = 0, .at = SimTime{1}, .sequence = 0, .allocations = 100});
  recorder.NoteMemory({.device = 0, .at = SimTime{2}, .sequence = 0, .allocations = 200});
  recorder.NoteMemory({.device = 1, .at = SimTime{2}, .sequence = 0, .allocations = 300});
  Iterate(&recorder, 0);
  Iterate(&recorder, 1);
  recorder.Close(6, SimTime{60});

  ASSERT_EQ(recorder.memory().size(), 2u);
  EXPECT_EQ(recorder.memory()[0].allocations + recorder.memory()[1].allocations, 500);
}

}  // namespace
}  // namespace eidolon::agent::timeline
