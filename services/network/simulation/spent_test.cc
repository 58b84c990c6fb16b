// Tests the parts of the time of real collectives, on clusters whose narrowest links are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <variant>
#include <vector>

#include "services/network/simulation/simulation.h"

namespace eidolon::network::simulation {
namespace {

using base::Duration;
using communicator::CommittedNotice;
using communicator::JoinedNotice;
using topology::LinkTier;

constexpr std::uint64_t kMebibyte = 1 << 20;

class SpentRecorder final : public Listener {
 public:
  void Tell(std::uint64_t, std::uint32_t server, const communicator::Notice& notice) override {
    if (server != 0) return;
    if (const auto* one = std::get_if<JoinedNotice>(&notice)) communicator = one->communicator;
    if (const auto* one = std::get_if<CommittedNotice>(&notice)) committed.push_back(*one);
  }
  void Ended(collective::Algorithm, collective::Protocol) override {}

  std::uint64_t communicator = 0;
  std::vector<CommittedNotice> committed;
};

topology::Cluster ClusterOf(std::uint32_t servers) {
  return {.name = "c",
          .servers = servers,
          .gpus_per_server = 8,
          .gpu = "H100-SXM5-80GB",
          .nvlink_generation = 4,
          .nvlink_switched = true,
          .nics = 8,
          .nic_gigabits_per_second = 400,
          .fabric = servers > 1 ? "leaf-spine" : "none"};
}

// Every GPU of the cluster all-reduces so many bytes, in one communicator.
CommittedNotice AllReduce(const topology::Cluster& cluster, std::uint64_t bytes) {
  SpentRecorder recorder;
  auto topology = topology::Topology::Make(cluster);
  EXPECT_TRUE(topology.has_value()) << topology.error().message;
  Simulation simulation(std::move(*topology), recorder);
  std::vector<std::uint32_t> placement(cluster.servers);
  std::iota(placement.begin(), placement.end(), 0);
  simulation.AddJob(1, {.placement = placement});
  for (const std::uint32_t server : placement) EXPECT_TRUE(simulation.Connect(1, server));
  const std::uint32_t each = cluster.gpus_per_server;
  const auto size = static_cast<std::int32_t>(cluster.servers * each);
  const auto for_all = [&](const auto& call) {
    for (std::int32_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(call(rank, static_cast<std::uint32_t>(rank) / each));
    }
  };
  for_all([&](std::int32_t rank, std::uint32_t server) {
    return simulation.Join(1, server, "id", size,
                           {.request = static_cast<std::uint64_t>(rank),
                            .member = {.global_rank = rank,
                                       .server = server,
                                       .device = static_cast<std::uint32_t>(rank) % each},
                            .rank = rank});
  });
  const communicator::Operation operation = {
      .kind = collective::Kind::kAllReduce, .data_type = 7, .count = bytes / 4, .bytes = bytes};
  for_all([&](std::int32_t rank, std::uint32_t server) {
    return simulation.Issue(
        1, server, {.communicator = recorder.communicator, .rank = rank, .operation = operation});
  });
  for_all([&](std::int32_t rank, std::uint32_t server) {
    return simulation.Post(
        1, server,
        {.communicator = recorder.communicator, .rank = rank, .ready = {1'000'000'000'000 + rank}});
  });
  for (const std::uint32_t server : placement) {
    EXPECT_TRUE(
        simulation.Keep(1, server, {.lower_bound = base::SimTime::Max(), .processed = each}));
  }
  simulation.Progress();
  EXPECT_EQ(recorder.committed.size(), 1u);
  if (recorder.committed.empty()) return {.spent = std::make_shared<flow::Spent>()};
  return recorder.committed.front();
}

// The part of the collective's time that went to links of a tier.
double ShareOf(const CommittedNotice& committed, LinkTier tier) {
  for (const flow::LinkTime& link : committed.spent->links) {
    if (link.tier != static_cast<std::uint8_t>(tier)) continue;
    return static_cast<double>(link.time.ps) /
           static_cast<double>((committed.finish - committed.start).ps);
  }
  return 0;
}

double LatencyShareOf(const CommittedNotice& committed) {
  return static_cast<double>(committed.spent->latency.ps) /
         static_cast<double>((committed.finish - committed.start).ps);
}

void ExpectExact(const CommittedNotice& committed) {
  Duration sum = committed.spent->latency + committed.spent->pace;
  for (const flow::LinkTime& link : committed.spent->links) sum += link.time;
  EXPECT_EQ(sum, committed.finish - committed.start);
  EXPECT_GT(committed.finish, committed.start);
}

TEST(SpentTest, OneServersLargeAllReduceSpendsItsTimeOnNvlink) {
  const CommittedNotice committed = AllReduce(ClusterOf(1), 1024 * kMebibyte);

  ExpectExact(committed);
  EXPECT_GT(ShareOf(committed, LinkTier::kNvlink), 0.5);
  EXPECT_EQ(ShareOf(committed, LinkTier::kNic), 0);
}

TEST(SpentTest, WithoutNvlinkItIsPcie) {
  topology::Cluster cluster = ClusterOf(1);
  cluster.gpu = "A100-PCIe-80GB";
  cluster.nvlink_generation = 0;
  cluster.nvlink_switched = false;

  const CommittedNotice committed = AllReduce(cluster, 1024 * kMebibyte);

  ExpectExact(committed);
  // The rest is NCCL's pace, which published logs of PCIe servers give.
  EXPECT_GT(ShareOf(committed, LinkTier::kPcie), 0.45);
  EXPECT_EQ(ShareOf(committed, LinkTier::kNvlink), 0);
  EXPECT_EQ(ShareOf(committed, LinkTier::kNic), 0);
}

TEST(SpentTest, TwoServersWithSlowNicsWaitForThese) {
  topology::Cluster cluster = ClusterOf(2);
  cluster.nic_gigabits_per_second = 25;

  const CommittedNotice committed = AllReduce(cluster, 1024 * kMebibyte);

  ExpectExact(committed);
  // The rest is NCCL's pace: it does not fill the NICs.
  EXPECT_GT(ShareOf(committed, LinkTier::kNic), 0.5);
  EXPECT_EQ(ShareOf(committed, LinkTier::kNvlink), 0);
}

TEST(SpentTest, AnOversubscribedSpineHoldsWhatTheNicsWouldCarry) {
  topology::Cluster cluster = ClusterOf(4);
  cluster.plan.cards_per_leaf = 8;
  cluster.oversubscription = 8;

  const CommittedNotice committed = AllReduce(cluster, 1024 * kMebibyte);

  ExpectExact(committed);
  EXPECT_GT(ShareOf(committed, LinkTier::kLeaf), 0.9);
}

TEST(SpentTest, ASmallAllReduceIsAllLatency) {
  for (const std::uint32_t servers : {1u, 8u}) {
    const CommittedNotice committed = AllReduce(ClusterOf(servers), 1024);

    ExpectExact(committed);
    EXPECT_GT(LatencyShareOf(committed), 0.9) << servers;
  }
}

TEST(SpentTest, EveryTierOfEveryFabricHasANumber) {
  for (const char* fabric : {"rail-optimised", "leaf-spine", "fat-tree", "dragonfly", "torus"}) {
    topology::Cluster cluster = ClusterOf(16);
    cluster.fabric = fabric;
    if (cluster.fabric == "torus") cluster.plan.dimensions = {4, 4};
    const auto topology = topology::Topology::Make(cluster);
    ASSERT_TRUE(topology.has_value()) << fabric << ": " << topology.error().message;

    const std::vector<std::uint8_t> tiers = topology->TierNumbers();

    ASSERT_EQ(tiers.size(), topology->LinkCount());
    EXPECT_EQ(std::ranges::count(tiers, static_cast<std::uint8_t>(LinkTier::kOther)), 0) << fabric;
  }
}

}  // namespace
}  // namespace eidolon::network::simulation
