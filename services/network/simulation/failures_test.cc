// Tests which messages count as failures of those that a communicator failed.
#include <gtest/gtest.h>

#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

class FailureListener final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t, const communicator::Notice& notice) override {
    if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
      communicator = joined->communicator;
    }
    if (std::holds_alternative<communicator::FailedNotice>(notice)) ++failed;
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}

  std::uint64_t communicator = 0;
  int failed = 0;
};

// Two servers with one rank each, joined in one communicator.
class FailuresTest : public testing::Test {
 protected:
  FailuresTest()
      : simulation_(*topology::Topology::Make({.name = "c",
                                               .servers = 2,
                                               .gpus_per_server = 4,
                                               .gpu = "H100-SXM5-80GB",
                                               .nvlink_generation = 4,
                                               .nvlink_switched = true,
                                               .nics = 4,
                                               .nic_gigabits_per_second = 400,
                                               .fabric = "rail-optimised"}),
                    listener_) {
    simulation_.AddJob(1, {.placement = {0, 1}});
    for (const std::uint32_t server : {0u, 1u}) {
      const auto rank = static_cast<std::int32_t>(server);
      EXPECT_TRUE(simulation_.Connect(1, server).has_value());
      EXPECT_TRUE(
          simulation_
              .Join(1, server, "id", 2,
                    {.request = 1, .member = {.global_rank = rank, .server = server}, .rank = rank})
              .has_value());
    }
    simulation_.Progress();
  }

  void AllReduce(std::uint32_t server, std::uint64_t bytes) {
    EXPECT_TRUE(simulation_
                    .Issue(1, server,
                           {.communicator = listener_.communicator,
                            .sequence = 0,
                            .rank = static_cast<std::int32_t>(server),
                            .operation = {.kind = collective::Kind::kAllReduce,
                                          .data_type = 1,
                                          .count = bytes,
                                          .bytes = bytes}})
                    .has_value());
    simulation_.Progress();
  }

  FailureListener listener_;
  Simulation simulation_;
};

TEST_F(FailuresTest, RanksThatDisagreeAre) {
  AllReduce(0, 1 << 20);
  AllReduce(1, 1 << 10);

  EXPECT_EQ(listener_.failed, 2);
  EXPECT_EQ(simulation_.statistics().failures, 2u);
}

TEST_F(FailuresTest, ARankThatLeavesWhileOthersWaitIsOne) {
  AllReduce(0, 1 << 20);
  EXPECT_TRUE(simulation_.Leave(1, 1, listener_.communicator, 1).has_value());
  simulation_.Progress();
  EXPECT_EQ(simulation_.statistics().failures, 0u);  // They may still end by themselves.
  listener_.failed = 0;
  simulation_.ReportDeadlock();

  EXPECT_GT(listener_.failed, 0);
  EXPECT_EQ(simulation_.statistics().failures, static_cast<std::uint64_t>(listener_.failed));
}

TEST_F(FailuresTest, TheEndOfAServerIsNone) {
  AllReduce(0, 1 << 20);
  simulation_.Disconnect(1, 1);
  simulation_.Progress();

  EXPECT_EQ(listener_.failed, 1);
  EXPECT_EQ(simulation_.statistics().failures, 0u);
}

}  // namespace
}  // namespace eidolon::network::simulation
