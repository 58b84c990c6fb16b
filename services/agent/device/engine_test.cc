// Single rules of the engine. Longer programs are the golden logs (golden_test.cc).
#include "services/agent/device/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace eidolon::agent::device {
namespace {

using base::Duration;
using base::SimTime;
using ::testing::HasSubstr;

SimTime Microseconds(std::int64_t us) { return {us * 1'000'000}; }

class EngineTest : public ::testing::Test, protected Sink {
 protected:
  void OpResolved(const ResolvedOp& op) override { ops_[op.sequence] = op; }
  void CollectiveReady(std::uint64_t token, SimTime ready) override { ready_[token] = ready; }
  void CollectiveBounded(std::uint64_t token, SimTime ready) override { bounds_[token] = ready; }
  void WaitEnded(std::uint64_t ticket, SimTime time) override { waits_[ticket] = time; }

  static Engine::Call At(std::int64_t us, std::uint32_t stream) {
    return {.stream = stream, .host_clock = Microseconds(us)};
  }
  static Work Kernel(std::int64_t us, std::uint32_t share = 1) {
    return {.duration = Duration::Microseconds(us), .share = share};
  }
  static Collective AllReduce(std::uint64_t token, std::uint32_t communicator = 9) {
    return {.communicator = communicator, .token = token, .estimate = Duration::Microseconds(100)};
  }

  Engine engine_{{{.launch_latency = Duration::Microseconds(3),
                   .launch_gap = Duration::Microseconds(1),
                   .graph_gap = Duration::Microseconds(1),
                   .callback_cost = Duration::Microseconds(10),
                   .multiprocessors = 100}},
                 this};
  std::map<std::uint64_t, ResolvedOp> ops_;
  std::map<std::uint64_t, SimTime> ready_;
  std::map<std::uint64_t, SimTime> bounds_;
  std::map<std::uint64_t, SimTime> waits_;
};

TEST_F(EngineTest, AnIdleStreamStartsAfterTheLaunchLatency) {
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());

  EXPECT_EQ(ops_.at(0).start, Microseconds(3));
  EXPECT_EQ(ops_.at(0).finish, Microseconds(13));
  EXPECT_TRUE(ops_.at(0).host_bound);
}

TEST_F(EngineTest, ABusyStreamStartsAfterItsLastOperationAndTheGap) {
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());

  EXPECT_EQ(ops_.at(1).start, Microseconds(14));
  EXPECT_FALSE(ops_.at(1).host_bound);
}

TEST_F(EngineTest, WorkBehindACollectiveStaysOpenUntilTheNetworkAnswers) {
  ASSERT_TRUE(engine_.Issue(At(0, 0), AllReduce(7)).has_value());
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());
  ASSERT_EQ(engine_.StreamEnd(0, 0, 42)->time, std::nullopt);
  ASSERT_EQ(ready_.at(7), Microseconds(3));

  ASSERT_TRUE(engine_.ResolveCollective(7, Microseconds(20), Microseconds(50)));

  EXPECT_EQ(ops_.at(0).start, Microseconds(20));
  EXPECT_EQ(ops_.at(1).start, Microseconds(51));
  EXPECT_EQ(waits_.at(42), Microseconds(56));
  EXPECT_EQ(engine_.open_operations(), 0u);
  EXPECT_FALSE(engine_.ResolveCollective(7, Microseconds(20), Microseconds(50)))
      << "answered twice";
}

TEST_F(EngineTest, WorkOfAHigherPriorityDelaysWhatTheOtherStreamDoesNext) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true, /*priority=*/-1).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10, kWholeShare)).has_value());
  ASSERT_TRUE(engine_.Launch(At(1, 1), Kernel(4, kWholeShare)).has_value());
  ASSERT_TRUE(engine_.Launch(At(2, 0), Kernel(5, kWholeShare)).has_value());

  EXPECT_EQ(ops_.at(1).finish - ops_.at(1).start, Duration::Microseconds(4));
  EXPECT_EQ(ops_.at(2).start, Microseconds(3 + 10 + 4 + 1)) << "latency, itself, the other, gap";
}

TEST_F(EngineTest, AnOperationNamesTheOneThatItWasReadyBehind) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());  // 0: behind its call alone.
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());   // 1: behind 0.
  ASSERT_TRUE(engine_.RecordEvent(At(2, 0), 5).has_value());
  ASSERT_TRUE(engine_.WaitEvent(At(2, 1), 5).has_value());
  ASSERT_TRUE(engine_.Issue(At(3, 1), AllReduce(7)).has_value());  // 2: behind 1, by the event.
  ASSERT_TRUE(engine_.Launch(At(4, 1), Kernel(5)).has_value());    // 3: behind 2.
  ASSERT_TRUE(engine_.Launch(At(900, 0), Kernel(5)).has_value());  // 4: its call came late.

  ASSERT_TRUE(engine_.ResolveCollective(7, Microseconds(40), Microseconds(140)));

  EXPECT_EQ(ops_.at(0).released_by, 0u);
  EXPECT_EQ(ops_.at(1).released_by, 1u);
  EXPECT_EQ(ops_.at(2).released_by, 2u);
  EXPECT_EQ(ops_.at(3).released_by, 3u);
  EXPECT_EQ(ops_.at(4).released_by, 0u);
}

TEST_F(EngineTest, OfTwoThatItWaitedForAnOperationNamesTheLater) {
  for (const std::uint32_t stream : {1u, 2u}) {
    ASSERT_TRUE(engine_.CreateStream(0, stream, true).has_value());
    ASSERT_TRUE(engine_.CreateEvent(stream).has_value());
    ASSERT_TRUE(engine_.Issue(At(0, stream), AllReduce(stream, stream)).has_value());
    ASSERT_TRUE(engine_.RecordEvent(At(1, stream), stream).has_value());
    ASSERT_TRUE(engine_.WaitEvent(At(1, 0), stream).has_value());
  }
  ASSERT_TRUE(engine_.Launch(At(2, 0), Kernel(5)).has_value());

  ASSERT_TRUE(engine_.ResolveCollective(1, Microseconds(10), Microseconds(90)));
  ASSERT_TRUE(engine_.ResolveCollective(2, Microseconds(10), Microseconds(70)));

  EXPECT_EQ(ops_.at(2).start, Microseconds(91));
  EXPECT_EQ(ops_.at(2).released_by, 1u);
}

TEST_F(EngineTest, OfTwoThatEndTogetherAnOperationNamesTheOneIssuedLater) {
  for (const std::uint32_t stream : {1u, 2u}) {
    ASSERT_TRUE(engine_.CreateStream(0, stream, true).has_value());
    ASSERT_TRUE(engine_.CreateEvent(stream).has_value());
    ASSERT_TRUE(engine_.Issue(At(0, stream), AllReduce(stream, stream)).has_value());
    ASSERT_TRUE(engine_.RecordEvent(At(1, stream), stream).has_value());
    ASSERT_TRUE(engine_.WaitEvent(At(1, 0), stream).has_value());
  }
  ASSERT_TRUE(engine_.Launch(At(2, 0), Kernel(5)).has_value());

  ASSERT_TRUE(engine_.ResolveCollective(2, Microseconds(10), Microseconds(90)));
  ASSERT_TRUE(engine_.ResolveCollective(1, Microseconds(10), Microseconds(90)));

  EXPECT_EQ(ops_.at(2).start, Microseconds(91));
  EXPECT_EQ(ops_.at(2).released_by, 2u);
}

TEST_F(EngineTest, AnOpenEndHasABoundThatItsOwnWorkGives) {
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 0), AllReduce(7)).has_value());  // Not before 3.
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());    // 4 to 9.
  ASSERT_TRUE(engine_.Issue(At(1, 0), AllReduce(8)).has_value());  // Not before 10.
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(20)).has_value());   // 11 to 31.
  ASSERT_TRUE(engine_.RecordEvent(At(2, 0), 5).has_value());

  const auto end = engine_.EventEnd(5, std::nullopt);
  EXPECT_EQ(end->time, std::nullopt);
  EXPECT_EQ(end->not_before, Microseconds(31));

  ASSERT_TRUE(engine_.ResolveCollective(7, Microseconds(3), Microseconds(3)));
  ASSERT_TRUE(engine_.ResolveCollective(8, Microseconds(10), Microseconds(10)));
  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->time, Microseconds(31))
      << "networks that take no time";
}

TEST_F(EngineTest, TheLeastThatACollectiveTakesBoundsItsEndAndHolds) {
  Collective collective = AllReduce(7);
  collective.at_least = Duration::Microseconds(40);
  ASSERT_TRUE(engine_.Issue(At(0, 0), collective).has_value());  // 3 to 43 or later.
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());  // 44 to 49 or later.

  EXPECT_EQ(engine_.StreamEnd(0, 0, std::nullopt)->not_before, Microseconds(49));

  ASSERT_TRUE(engine_.ResolveCollective(7, Microseconds(3), Microseconds(20)));
  EXPECT_EQ(engine_.StreamEnd(0, 0, std::nullopt)->time, Microseconds(49)) << "as a query was told";
}

TEST_F(EngineTest, WhatTheNetworkKnowsOfACollectiveBoundsAllThatWaitsForIt) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 0), AllReduce(7)).has_value());  // Not before 3.
  ASSERT_TRUE(engine_.RecordEvent(At(1, 0), 5).has_value());
  ASSERT_TRUE(engine_.Launch(At(1, 0), Kernel(5)).has_value());  // 4 to 9 or later.
  ASSERT_TRUE(engine_.WaitEvent(At(2, 1), 5).has_value());
  ASSERT_TRUE(engine_.Launch(At(2, 1), Kernel(20)).has_value());
  Collective send = AllReduce(8, 10);
  send.tells_bound = true;
  ASSERT_TRUE(engine_.Issue(At(3, 0), send).has_value());
  EXPECT_EQ(bounds_.at(8), Microseconds(11)) << "the record of an event takes its time, too";

  engine_.BoundCollective(7, Microseconds(100));

  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->not_before, Microseconds(100));
  EXPECT_EQ(engine_.StreamEnd(0, 1, std::nullopt)->not_before, Microseconds(121));
  EXPECT_EQ(bounds_.at(8), Microseconds(107));
  engine_.BoundCollective(7, Microseconds(90));
  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->not_before, Microseconds(100)) << "it only grows";
  ASSERT_FALSE(engine_.ResolveCollective(8, Microseconds(100), Microseconds(110)))
      << "it was not reached";

  ASSERT_TRUE(engine_.ResolveCollective(7, Microseconds(3), Microseconds(100)));
  EXPECT_EQ(engine_.StreamEnd(0, 1, std::nullopt)->time, Microseconds(121));
  EXPECT_EQ(ready_.at(8), Microseconds(107));
  engine_.BoundCollective(7, Microseconds(200));
  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->time, Microseconds(100))
      << "what has ended stays so";
}

TEST_F(EngineTest, CollectivesOfOneCommunicatorQueueAcrossStreams) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.CreateStream(0, 2, true).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 1), AllReduce(1)).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 2), AllReduce(2)).has_value());
  ASSERT_FALSE(ready_.contains(2));

  engine_.ResolveCollective(1, Microseconds(3), Microseconds(30));

  EXPECT_EQ(ready_.at(2), Microseconds(31));
}

TEST_F(EngineTest, ACollectiveDelaysTheStreamWhoseWorkItComesBeside) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 1), Kernel(200, kWholeShare)).has_value());  // 3 to 203.
  Collective collective = AllReduce(7);
  collective.channels = 25;
  ASSERT_TRUE(engine_.Issue(At(10, 0), collective).has_value());  // 13 to 113, a quarter of it.
  ASSERT_TRUE(engine_.Launch(At(11, 1), Kernel(5)).has_value());

  EXPECT_EQ(ops_.at(0).finish, Microseconds(203)) << "what was said stays";
  EXPECT_EQ(ops_.at(2).start, Microseconds(229)) << "25 us later and the gap";
}

TEST_F(EngineTest, TheDelayOfOpenWorkComesWithItsEnd) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 1), AllReduce(6, 8)).has_value());  // 3 to 103, by itself.
  ASSERT_TRUE(engine_.Launch(At(1, 1), Kernel(200, kWholeShare)).has_value());  // 104 to 304.
  Collective collective = AllReduce(7);
  collective.channels = 25;
  ASSERT_TRUE(engine_.Issue(At(150, 0), collective).has_value());  // 153 to 253.
  ASSERT_TRUE(engine_.Launch(At(151, 1), Kernel(5)).has_value());

  ASSERT_TRUE(engine_.ResolveCollective(6, Microseconds(1003), Microseconds(1103)));

  EXPECT_EQ(ops_.at(1).finish, Microseconds(1304));
  EXPECT_EQ(ops_.at(3).start, Microseconds(1330));
}

TEST_F(EngineTest, AStreamThatWaitsForAnEventFollowsTheRecordedWork) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.CreateStream(0, 2, true).has_value());
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 1), AllReduce(1)).has_value());
  ASSERT_TRUE(engine_.RecordEvent(At(0, 1), 5).has_value());
  ASSERT_TRUE(engine_.WaitEvent(At(0, 2), 5).has_value());
  // The wait alone makes stream 2 busy: a synchronisation must hear of the end.
  ASSERT_EQ(engine_.StreamEnd(0, 2, 1)->time, std::nullopt);

  engine_.ResolveCollective(1, Microseconds(3), Microseconds(30));

  EXPECT_EQ(waits_.at(1), Microseconds(30));
  EXPECT_EQ(engine_.StreamEnd(0, 2, std::nullopt)->time, Microseconds(30));
  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->time, Microseconds(30));
}

TEST_F(EngineTest, TheLegacyStreamFollowsBlockingStreamsAndHoldsThemBack) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, false).has_value());
  ASSERT_TRUE(engine_.CreateStream(0, 2, true).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 1), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 1), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 2), Kernel(10)).has_value());

  EXPECT_EQ(ops_.at(1).start, Microseconds(14)) << "legacy after blocking";
  EXPECT_EQ(ops_.at(2).start, Microseconds(25)) << "blocking after legacy";
  EXPECT_EQ(ops_.at(3).start, Microseconds(3)) << "non-blocking is free";
}

TEST_F(EngineTest, TheEndOfABlockingStreamIncludesWorkOfTheLegacyStream) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, false).has_value());
  ASSERT_TRUE(engine_.CreateStream(0, 2, true).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());

  EXPECT_EQ(engine_.StreamEnd(0, 1, std::nullopt)->time, Microseconds(13));
  EXPECT_EQ(engine_.StreamEnd(0, 2, std::nullopt)->time, Microseconds(0)) << "non-blocking is free";
}

TEST_F(EngineTest, LegacyRulesHoldForOpenWorkToo) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, false).has_value());
  ASSERT_TRUE(engine_.Issue(At(0, 0), AllReduce(1)).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 1), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(10)).has_value());

  engine_.ResolveCollective(1, Microseconds(3), Microseconds(30));

  EXPECT_EQ(ops_.at(1).start, Microseconds(31));
  EXPECT_EQ(ops_.at(2).start, Microseconds(42));
  EXPECT_EQ(engine_.DeviceEnd(0, std::nullopt)->time, Microseconds(52));
}

TEST_F(EngineTest, AnEventOnAnIdleStreamHappensWhenTheGpuSeesIt) {
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());

  ASSERT_TRUE(engine_.RecordEvent(At(100, 0), 5).has_value());

  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->time, Microseconds(103));
}

TEST_F(EngineTest, AnEventThatWasNeverRecordedIsComplete) {
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());

  EXPECT_EQ(engine_.EventEnd(5, std::nullopt)->time, Microseconds(0));
}

TEST_F(EngineTest, WorkOfADestroyedStreamStillCountsForTheDevice) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.Launch(At(0, 1), Kernel(10)).has_value());
  ASSERT_TRUE(engine_.DestroyStream(1).has_value());

  EXPECT_EQ(engine_.DeviceEnd(0, std::nullopt)->time, Microseconds(13));
}

TEST_F(EngineTest, HostCallbacksTakeTheirFixedCost) {
  ASSERT_TRUE(engine_.Callback(At(0, 0)).has_value());

  EXPECT_EQ(ops_.at(0).finish, Microseconds(13));
}

TEST_F(EngineTest, BranchesOfAGraphRunSideBySideAndDoNotOverlapTheNextLaunch) {
  std::vector<GraphNode> nodes(4);
  for (auto& node : nodes) node = {.kind = GraphNodeKind::kWork, .work = Kernel(10)};
  nodes[1].dependencies = {0};
  nodes[2].dependencies = {0};
  nodes[3].dependencies = {1, 2};
  ASSERT_TRUE(engine_.DefineGraph(0, 1, nodes).has_value());

  ASSERT_TRUE(engine_.LaunchGraph(At(0, 0), 1, {}).has_value());
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.LaunchGraph(At(0, 1), 1, {}).has_value());

  EXPECT_EQ(ops_.at(1).start, Microseconds(14));
  EXPECT_EQ(ops_.at(2).start, Microseconds(14));
  EXPECT_EQ(ops_.at(3).start, Microseconds(25));
  EXPECT_EQ(ops_.at(4).start, Microseconds(36)) << "the second launch waits for the first";
}

TEST_F(EngineTest, AGraphWithACollectiveEndsWithIt) {
  std::vector<GraphNode> nodes(2);
  nodes[0] = {.kind = GraphNodeKind::kCollective};
  nodes[1] = {.kind = GraphNodeKind::kWork, .work = Kernel(10), .dependencies = {0}};
  ASSERT_TRUE(engine_.DefineGraph(0, 1, nodes).has_value());
  const std::vector<Collective> calls{AllReduce(3)};
  ASSERT_TRUE(engine_.LaunchGraph(At(0, 0), 1, calls).has_value());
  ASSERT_EQ(engine_.StreamEnd(0, 0, 8)->time, std::nullopt);

  engine_.ResolveCollective(3, Microseconds(3), Microseconds(20));

  EXPECT_EQ(waits_.at(8), Microseconds(31));
}

TEST_F(EngineTest, NamesWhatIsUnknown) {
  EXPECT_THAT(engine_.Launch(At(0, 77), Kernel(1)).error().message, HasSubstr("stream 77"));
  EXPECT_THAT(engine_.RecordEvent(At(0, 0), 78).error().message, HasSubstr("event 78"));
  EXPECT_THAT(engine_.LaunchGraph(At(0, 0), 79, {}).error().message, HasSubstr("graph 79"));
  EXPECT_THAT(engine_.CreateStream(3, 1, true).error().message, HasSubstr("device 3"));
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  EXPECT_THAT(engine_.CreateStream(0, 1, true).error().message, HasSubstr("exists already"));
}

TEST_F(EngineTest, OpenWorkIsForgottenOnceResolved) {
  ASSERT_TRUE(engine_.CreateStream(0, 1, true).has_value());
  ASSERT_TRUE(engine_.CreateEvent(5).has_value());
  for (std::uint64_t token = 1; token <= 1'000; ++token) {
    ASSERT_TRUE(engine_.Issue(At(0, 1), AllReduce(token)).has_value());
    ASSERT_TRUE(engine_.RecordEvent(At(0, 1), 5).has_value());
    ASSERT_TRUE(engine_.WaitEvent(At(0, 0), 5).has_value());
    ASSERT_TRUE(engine_.Launch(At(0, 0), Kernel(1)).has_value());
    ASSERT_TRUE(engine_.ResolveCollective(token, ready_.at(token), ready_.at(token)));
    ASSERT_EQ(engine_.open_operations(), 0u);
  }
}

// The power of this GPU is known.
class PowerTest : public ::testing::Test, public Sink {
 protected:
  void OpResolved(const ResolvedOp& op) override { last_ = op; }
  void CollectiveReady(std::uint64_t, SimTime) override {}
  void WaitEnded(std::uint64_t, SimTime) override {}
  Duration LengthAfter(int launches, const Draw& draw) {
    Engine engine({{.multiprocessors = 132,
                    .power = {.floor_milliwatts = 100'000, .room_milliwatts = 500'000}}},
                  this);
    for (int i = 0; i < launches; ++i) {
      EXPECT_TRUE(engine.Launch({}, {.duration = Duration::Microseconds(100), .draw = draw}));
    }
    return last_.finish - last_.start;
  }
  ResolvedOp last_;
};

TEST_F(PowerTest, LaunchesWithoutPauseTakeLongerUnderTheLimit) {
  const Draw draw = {.milliwatts = 1'000'000, .clock_share = 1024};

  EXPECT_EQ(LengthAfter(10, draw), Duration::Microseconds(100));
  EXPECT_EQ(last_.microjoules, 100'000u);
  const Duration held = LengthAfter(2000, draw);
  EXPECT_GT(held, Duration::Microseconds(125));
  EXPECT_LT(held, Duration::Microseconds(127));
  EXPECT_LT(last_.microjoules, 64'000u);
  EXPECT_NEAR(last_.milliwatts, 600'000, 5'000);
}

TEST_F(PowerTest, LaunchesBelowTheLimitKeepTheirTime) {
  EXPECT_EQ(LengthAfter(2000, {.milliwatts = 450'000, .clock_share = 1024}),
            Duration::Microseconds(100));
}

}  // namespace
}  // namespace eidolon::agent::device
