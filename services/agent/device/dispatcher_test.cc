#include "services/agent/device/dispatcher.h"

#include <gtest/gtest.h>

#include "services/agent/device/parts_test.h"

namespace eidolon::agent::device {
namespace {

class DispatcherTest : public PartsTest {
 protected:
  Dispatcher::Place PlaceAt(std::int64_t us, std::uint32_t stream = 0) {
    return dispatcher_.PlaceOf(At(stream), Us(us));
  }
};

TEST_F(DispatcherTest, TheGpuSeesACallAfterTheLaunchLatency) {
  EXPECT_EQ(PlaceAt(10).host_ready, Us(13));
}

TEST_F(DispatcherTest, WorkOfKnownInputsIsResolvedAtOnce) {
  const Signal end = dispatcher_.AddWork(PlaceAt(0), {.at = Us(20), .local = Us(20)}, Kernel(5));

  EXPECT_EQ(sink_.ops.at(0).start, Us(21)) << "the end of its input and the gap";
  EXPECT_FALSE(sink_.ops.at(0).host_bound);
  EXPECT_EQ(end.node, 0u);
  EXPECT_EQ(end.at, Us(26));
  EXPECT_EQ(work_.open_operations(), 0u);
}

TEST_F(DispatcherTest, WorkThatOnlyTheHostHeldBackIsHostBound) {
  dispatcher_.AddWork(PlaceAt(40), {.at = Us(20), .local = Us(20)}, Kernel(5));

  EXPECT_EQ(sink_.ops.at(0).start, Us(43));
  EXPECT_TRUE(sink_.ops.at(0).host_bound);
}

TEST_F(DispatcherTest, WorkBehindOpenWorkIsOpenAndKnowsItsLocalEnd) {
  const Signal collective = Issue(1);
  const Signal end = dispatcher_.AddWork(PlaceAt(1), collective, Kernel(5));

  EXPECT_NE(end.node, 0u);
  EXPECT_EQ(end.local, Us(109)) << "3 us, the estimate of 100, the gap, and 5";
  EXPECT_TRUE(sink_.ops.empty());
  EXPECT_EQ(work_.open_operations(), 2u);
}

TEST_F(DispatcherTest, OnASlowerGpuWorkThatTheClockBoundsLastsLonger) {
  gpus_[0].traits.slowness = 25'000;
  Work gemm = Kernel(40);
  gemm.clock_bound = true;

  const Signal first = dispatcher_.AddWork(PlaceAt(7), {}, gemm);
  const Signal second = dispatcher_.AddWork(PlaceAt(7), first, Kernel(40));
  gpus_[0].traits.slowness = -25'000;
  const Signal third = dispatcher_.AddWork(PlaceAt(7), second, gemm);

  EXPECT_EQ(first.at, Us(51)) << "3 us of latency and 41";
  EXPECT_EQ(second.at, Us(92)) << "the gap, and 40, bound by memory";
  EXPECT_EQ(third.at, Us(132)) << "the gap, and 39";
}

TEST_F(DispatcherTest, ACallbackTakesItsFixedCost) {
  EXPECT_EQ(dispatcher_.AddCallback(PlaceAt(0), {}).at, Us(13));
  EXPECT_EQ(sink_.ops.at(0).kind, OpKind::kCallback);
}

TEST_F(DispatcherTest, KernelsLackTheBandwidthThatACollectiveTakes) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  gpus_[0].traits.memory_bytes_per_second = 2'000'000'000'000;
  Collective gather = AllReduce(1);
  gather.memory_bytes = 80'000'000;  // Of the 200 MB that memory moves in its 100 us.
  dispatcher_.AddCollective(PlaceAt(0, 1), {}, gather);
  EXPECT_NEAR(static_cast<double>(gpus_[0].history.Before(Us(200)).memory_ps), 40e6, 0.1e6);
  Work bound = Kernel(30);
  bound.memory = kWholeShare;

  const Signal end = dispatcher_.AddWork(PlaceAt(0), {}, bound);

  EXPECT_NEAR(static_cast<double>((end.at - Us(3)).ps), 50e6, 0.1e6);
}

TEST_F(DispatcherTest, CollectivesOfOneCommunicatorQueueAcrossStreams) {
  ASSERT_TRUE(streams_.Create(0, 1, true).has_value());
  Issue(1);
  Issue(2, 1);
  ASSERT_FALSE(sink_.ready.contains(2));

  work_.ResolveCollective(1, Us(3), Us(30));

  EXPECT_EQ(sink_.ready.at(2), Us(31));
}

TEST_F(DispatcherTest, NumbersOperationsAsTheyCome) {
  dispatcher_.AddCallback(PlaceAt(0), {});
  Issue(1);
  dispatcher_.AddCallback(PlaceAt(0), {});

  EXPECT_EQ(dispatcher_.issued(), 3u);
  EXPECT_TRUE(sink_.ops.contains(0));
  EXPECT_TRUE(sink_.ops.contains(2)) << "1 is the collective, which is open";
}

}  // namespace
}  // namespace eidolon::agent::device
