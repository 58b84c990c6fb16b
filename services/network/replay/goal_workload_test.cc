#include "services/network/replay/goal_workload.h"

#include <gtest/gtest.h>

#include "services/network/replay/churn.h"
#include "services/network/replay/replay.h"

namespace eidolon::network::replay {
namespace {

ReplayResult Play(const FlowFile& file) {
  return Replay(file, {.processor_seconds = [] { return 0.0; }});
}

double LastMicrosecond(const ReplayResult& result) {
  base::SimTime last;
  for (base::SimTime finish : result.finish) last = std::max(last, finish);
  return static_cast<double>(last.ps) * 1e-6;
}

TEST(GoalWorkloadTest, ARingIsBoundByTheNicsOfItsChannels) {
  const RingSize size{.gpus = 64, .channels = 8};
  const ReplayResult step = Play(StepRing(size));
  const ReplayResult fluid = Play(FluidRing(size));

  EXPECT_EQ(step.completed, 126u * 64 * 8);
  EXPECT_EQ(fluid.completed, 64u * 8);
  // 126 steps of 2 MiB at 50 GB/s; a step waits for the slowest edge.
  EXPECT_NEAR(LastMicrosecond(step), 126 * 2097152 / 50e3, 1);
  EXPECT_NEAR(LastMicrosecond(fluid), 126 * 2097152 / 50e3, 1);
}

TEST(GoalWorkloadTest, AnAllToAllIsBoundByItsHosts) {
  const ReplayResult result = Play(AllToAll(64, false));

  EXPECT_EQ(result.completed, 64u * 63);
  EXPECT_NEAR(LastMicrosecond(result), 63e6 / 12.5e3, 1);
  EXPECT_GT(Play(AllToAll(16, true)).instants, 200u);
}

TEST(GoalWorkloadTest, TreesCarryRandomAndPoissonTraffic) {
  for (bool ecmp : {false, true}) {
    const TreeTraffic traffic{.k = 8, .flows = 500, .ecmp = ecmp};
    EXPECT_EQ(Play(RandomFlows(traffic)).completed, 500u);
    const FlowFile poisson = PoissonFlows(traffic);
    double bytes = 0;
    for (const FlowFile::Flow& flow : poisson.flows) bytes += static_cast<double>(flow.bytes);

    EXPECT_EQ(Play(poisson).completed, 500u);
    // Half of what 128 hosts of 12.5 GB/s could send, give or take what 500 draws scatter.
    const double load =
        bytes / (static_cast<double>(poisson.flows.back().start_ps) * 1e-12) / (128 * 12.5e9);
    EXPECT_NEAR(load, 0.5, 0.15);
  }
}

TEST(ChurnTest, MemoryStaysWhatTheFirstFlowsNeeded) {
  const ChurnResult result = Churn({.nics = 256, .flows = 100'000});

  EXPECT_EQ(result.events, 200'000u);
  EXPECT_EQ(result.uncertified, 0u);
  // Only a link's list may still meet a larger crowd than ever before; what leaks grows tenfold.
  EXPECT_LE(result.bytes_end, result.bytes_begin + result.bytes_begin / 4);
  EXPECT_LE(result.bytes_full - result.bytes_empty, 256u * 128);
}

}  // namespace
}  // namespace eidolon::network::replay
