#include "services/network/collective/traffic.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

using topology::Place;
using topology::Topology;

Topology TopologyOfH100(std::uint32_t servers) {
  return *Topology::Make({.name = "c",
                          .servers = servers,
                          .gpus_per_server = 8,
                          .gpu = "H100-SXM5-80GB",
                          .nvlink_generation = 4,
                          .nvlink_switched = true,
                          .nics = 8,
                          .nic_gigabits_per_second = 400,
                          .nic_latency_microseconds = 0,
                          .fabric = "rail-optimised",
                          .oversubscription = 2});
}

std::vector<Place> All(std::uint32_t servers) {
  std::vector<Place> places;
  for (std::uint32_t s = 0; s < servers; ++s) {
    for (std::uint32_t d = 0; d < 8; ++d) places.push_back({s, d});
  }
  return places;
}

std::map<std::string, double> GigabytesByLink(const Topology& topology,
                                              const std::vector<Place>& places, const Load& load) {
  const Cost cost = CostOf({.kind = load.kind, .bytes = load.bytes}, ShapeOf(topology, places));
  std::map<std::string, double> rates;
  for (const flow::LinkUse& use : TrafficOf(topology, places, load, cost)) {
    rates[topology.LinkName(use.link)] = static_cast<double>(use.bytes_per_second) * 1e-9;
  }
  return rates;
}

constexpr std::uint64_t kGibibyte = 1 << 30;

TEST(TrafficTest, ARingLoadsEveryPortAlike) {
  const Topology topology = TopologyOfH100(1);

  const auto rates =
      GigabytesByLink(topology, All(1), {.kind = Kind::kAllGather, .bytes = kGibibyte});

  EXPECT_EQ(rates.size(), 16u);
  // Logs show a bus bandwidth of 345 GB/s, latency included.
  EXPECT_NEAR(rates.at("GPU 3 of server 0, up"), 349, 1);
}

TEST(TrafficTest, AnAllReduceOfTwoServersLoadsEachNicWithItsShare) {
  const Topology topology = TopologyOfH100(2);

  const auto rates =
      GigabytesByLink(topology, All(2), {.kind = Kind::kAllReduce, .bytes = kGibibyte});

  // NVLS-Tree of two servers: the buffer once over 8 NICs.
  EXPECT_NEAR(rates.at("NIC 5 of server 1, out"), 246.0 / 8, 1);
  EXPECT_EQ(rates.count("leaf 0, up"), 0u);
}

TEST(TrafficTest, OnlyTrafficBetweenLeavesClimbs) {
  const Topology topology = TopologyOfH100(40);
  const std::vector<Place> places = {{0, 0}, {39, 0}};

  const auto rates =
      GigabytesByLink(topology, places, {.kind = Kind::kAllGather, .bytes = kGibibyte});

  EXPECT_GT(rates.at("leaf 0, up"), 0);
  EXPECT_GT(rates.at("leaf 8, down"), 0);
}

TEST(TrafficTest, AGatherLoadsTheRootsPort) {
  const Topology topology = TopologyOfH100(1);

  const auto rates =
      GigabytesByLink(topology, All(1), {.kind = Kind::kGather, .bytes = kGibibyte, .root = 2});

  EXPECT_GT(rates.at("GPU 2 of server 0, down"), rates.at("GPU 1 of server 0, up") * 6.9);
}

TEST(TrafficTest, NothingExceedsALinkOfAServer) {
  const Topology topology = TopologyOfH100(40);
  const std::vector<std::vector<Place>> groups = {All(1), All(2), All(40), {{0, 0}, {1, 3}}};
  for (const auto& places : groups) {
    for (int kind = 0; kind < static_cast<int>(Kind::kPointToPoint); ++kind) {
      for (std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4096}, kGibibyte}) {
        const Load load{.kind = static_cast<Kind>(kind), .bytes = bytes, .root = 0};
        const Cost cost = CostOf({.kind = load.kind, .bytes = bytes}, ShapeOf(topology, places));
        for (const flow::LinkUse& use : TrafficOf(topology, places, load, cost)) {
          ASSERT_GT(use.bytes_per_second, 0u);
          if (use.link >= topology.first_fabric()) continue;
          ASSERT_LE(use.bytes_per_second, topology.Capacities()[use.link]);
        }
      }
    }
  }
}

// 32 servers a leaf, half of their NICs' bandwidth above it: a ring that crosses leaves twice is
// not slowed; of an exchange with everybody three quarters climb, and half would fit.
TEST(TrafficTest, ANarrowFabricSlowsWhatFillsIt) {
  const Topology topology = TopologyOfH100(128);
  const auto slowdown = [&](Kind kind) {
    const Load load{.kind = kind, .bytes = kGibibyte};
    const Cost cost = CostOf({.kind = kind, .bytes = kGibibyte}, ShapeOf(topology, All(128)));
    const auto uses = TrafficOf(topology, All(128), load, cost);
    return TimeOver(topology, uses, cost.transfer).Seconds() / cost.transfer.Seconds();
  };

  EXPECT_EQ(slowdown(Kind::kAllGather), 1);
  EXPECT_GT(slowdown(Kind::kAllToAll), 1);
  EXPECT_LE(slowdown(Kind::kAllToAll), 2);
}

TEST(TrafficTest, ATransferOverANarrowLinkTakesTheLinksTime) {
  const Topology topology =
      *Topology::Make({.name = "c",
                       .servers = 2,
                       .gpus_per_server = 1,
                       .gpu = "H100-SXM5-80GB",
                       .nvlink_generation = 4,
                       .nvlink_switched = true,
                       .nics = 1,
                       .nic_gigabits_per_second = 400,
                       .fabric = "torus",
                       .plan = {.dimensions = {2}, .link_gigabits_per_second = 80}});

  const auto uses = TrafficBetween(topology, {0, 0}, {1, 0}, 40'000'000'000);

  EXPECT_EQ(TimeOver(topology, uses, base::Duration::Milliseconds(1)),
            base::Duration::Milliseconds(4));
}

TEST(TrafficTest, ATransferUsesItsRoute) {
  const Topology topology = TopologyOfH100(2);

  const auto uses = TrafficBetween(topology, {0, 0}, {1, 1}, 45'000'000'000);

  ASSERT_EQ(uses.size(), 3u);
  EXPECT_TRUE(TrafficBetween(topology, {0, 0}, {0, 0}, 1).empty());
}

}  // namespace
}  // namespace eidolon::network::collective
