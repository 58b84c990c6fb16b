#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/topology/topology.h"

namespace eidolon::network::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Servers of two NICs, one server a leaf, four spines with static routing.
Cluster Spines(std::vector<Fault> faults, Routing routing = Routing::kEcmp) {
  Cluster cluster{.name = "c",
                  .servers = 4,
                  .gpus_per_server = 2,
                  .gpu = "H100",
                  .nvlink_generation = 4,
                  .nvlink_switched = true,
                  .nics = 2,
                  .nic_gigabits_per_second = 400,
                  .fabric = "leaf-spine"};
  cluster.plan.routing = routing;
  cluster.plan.cards_per_leaf = 2;
  cluster.plan.spines = 4;
  cluster.faults = std::move(faults);
  return cluster;
}

std::vector<std::string> NamesOf(const Topology& topology) {
  std::vector<std::string> names;
  for (const LinkChange& change : topology.changes()) {
    names.push_back(topology.LinkName(change.link));
  }
  return names;
}

std::vector<std::string> Way(const Topology& topology, std::uint32_t pair) {
  Route route;
  topology.AppendFabric({0, 0}, {1, 0}, pair, route);
  std::vector<std::string> names;
  for (LinkIndex link : route.Links()) names.push_back(topology.LinkName(link));
  return names;
}

TEST(FaultsTest, ANameWithoutItsDirectionMeansBoth) {
  const auto topology = Topology::Make(
      Spines({{2.0, "NIC 1 of server 3", 0.5}, {1.0, "leaf 0, up to spine 2", 0.25}}));
  ASSERT_TRUE(topology.has_value()) << topology.error().message;

  EXPECT_THAT(NamesOf(*topology), ElementsAre("leaf 0, up to spine 2", "NIC 1 of server 3, out",
                                              "NIC 1 of server 3, in"));
  const LinkChange& first = topology->changes()[0];
  EXPECT_EQ(first.at, base::SimTime{1'000'000'000'000});
  EXPECT_EQ(first.capacity, topology->Capacities()[first.link] / 4);
  // "leaf 0" does not mean "leaf 03", but all links of the leaf.
  EXPECT_EQ(Topology::Make(Spines({{0, "leaf 0", 0.5}}))->changes().size(), 8u);
}

// Each change as "NAME at SECOND: PERCENT".
std::vector<std::string> ChangesOf(const Topology& topology) {
  std::vector<std::string> changes;
  for (const LinkChange& change : topology.changes()) {
    changes.push_back(topology.LinkName(change.link) + " at " +
                      std::to_string(change.at.ps / 1'000'000'000'000) + ": " +
                      std::to_string(change.capacity * 100 / topology.Capacities()[change.link]));
  }
  return changes;
}

TEST(FaultsTest, OneOfMergedLinksTakesItsShareOfTheCapacity) {
  const auto topology = Topology::Make(Spines({{1, "leaf 0, up to spine 2", 0},
                                               {2, "leaf 0 to spine 1", 0.5},
                                               {3, "leaf 0, up to spine 2", 1},
                                               {4, "leaf 0, up", 1}},
                                              Routing::kAdaptive));
  ASSERT_TRUE(topology.has_value()) << topology.error().message;

  EXPECT_THAT(ChangesOf(*topology),
              ElementsAre("leaf 0, up at 1: 75", "leaf 0, up at 2: 62", "leaf 0, down at 2: 87",
                          "leaf 0, up at 3: 87", "leaf 0, up at 4: 100"));
}

TEST(FaultsTest, MergedLinksFailWithTheLastOfThem) {
  std::vector<Fault> faults;
  for (const char* spine : {"3", "1", "0", "2"}) {
    faults.push_back({static_cast<double>(faults.size()), std::string("leaf 1 to spine ") + spine});
    faults.back().capacity_factor = 0;
  }
  auto topology = *Topology::Make(Spines(faults, Routing::kAdaptive));

  EXPECT_THAT(ChangesOf(topology),
              ElementsAre("leaf 1, up at 0: 75", "leaf 1, down at 0: 75", "leaf 1, up at 1: 50",
                          "leaf 1, down at 1: 50", "leaf 1, up at 2: 25", "leaf 1, down at 2: 25",
                          "leaf 1, up at 3: 0", "leaf 1, down at 3: 0"));
  EXPECT_TRUE(topology.FailedLinks().empty());
  const auto before = Way(topology, 3);
  EXPECT_TRUE(topology.SetFailed(topology.changes().back().link, true));
  EXPECT_THAT(topology.FailedLinks(), ElementsAre("leaf 1, down"));
  EXPECT_EQ(Way(topology, 3), before);
}

TEST(FaultsTest, APodsLinksToTheCoreFailOneByOne) {
  for (const Routing routing : {Routing::kAdaptive, Routing::kEcmp}) {
    Cluster cluster = Spines({{1, "pod 1 to core 3", 0}}, routing);
    cluster.fabric = "fat-tree";
    cluster.plan.leaves_per_pod = 2;
    const auto topology = Topology::Make(cluster);
    ASSERT_TRUE(topology.has_value()) << topology.error().message;

    EXPECT_THAT(ChangesOf(*topology), ElementsAre("pod 1, up at 1: 75", "pod 1, down at 1: 75"));
  }
}

TEST(FaultsTest, ACableWithStaticRoutingFailsInBothDirections) {
  const auto topology = Topology::Make(Spines({{1, "leaf 0 to spine 2", 0}}));

  EXPECT_THAT(NamesOf(*topology), ElementsAre("leaf 0, up to spine 2", "leaf 0, down to spine 2"));
}

TEST(FaultsTest, StaticRoutesLeaveAFailedLinkAndComeBack) {
  auto topology = *Topology::Make(Spines({{1, "leaf 0, up to spine 2", 0}}));
  const LinkIndex failed = topology.changes()[0].link;
  std::vector<std::vector<std::string>> before;
  for (std::uint32_t pair = 0; pair < 64; ++pair) before.push_back(Way(topology, pair));

  EXPECT_TRUE(topology.SetFailed(failed, true));
  std::set<std::string> used;
  for (std::uint32_t pair = 0; pair < 64; ++pair) {
    const auto way = Way(topology, pair);
    used.insert(way[0]);
    EXPECT_NE(way[0], "leaf 0, up to spine 2");
    // Who did not use the link keeps its way.
    if (before[pair][0] != "leaf 0, up to spine 2") {
      EXPECT_EQ(way, before[pair]);
    }
  }
  EXPECT_EQ(used.size(), 3u);

  EXPECT_FALSE(topology.SetFailed(failed, true));
  EXPECT_TRUE(topology.SetFailed(failed, false));
  for (std::uint32_t pair = 0; pair < 64; ++pair) EXPECT_EQ(Way(topology, pair), before[pair]);
}

TEST(FaultsTest, AGraphGoesTheLongWayRound) {
  Cluster cluster = Spines({{1, "a to b", 0}});
  cluster.servers = 2;
  cluster.nics = 1;
  cluster.fabric = "graph";
  cluster.plan.routing = Routing::kAdaptive;
  cluster.plan.switches = {"a", "b", "c"};
  cluster.plan.cables = {{0, 1, 400}, {1, 2, 400}, {2, 0, 400}};
  cluster.plan.plugs = {{0, 0, 0}, {1, 0, 1}};
  auto topology = *Topology::Make(cluster);
  EXPECT_THAT(Way(topology, 0), ElementsAre("a to b"));

  topology.SetFailed(topology.changes()[0].link, true);

  EXPECT_THAT(Way(topology, 0), ElementsAre("a to c", "c to b"));
}

TEST(FaultsTest, WhatIsCutOffKeepsItsWayAndWaits) {
  auto topology = *Topology::Make(Spines({{1, "leaf 0", 0}}));
  const auto before = Way(topology, 0);

  for (const LinkChange& change : topology.changes()) topology.SetFailed(change.link, true);

  EXPECT_EQ(Way(topology, 0), before);
}

TEST(FaultsTest, SaysWhatIsWrong) {
  const auto background = [](std::uint32_t from, std::uint32_t to, std::uint32_t rail,
                             double gbps) {
    Cluster cluster = Spines({});
    cluster.background = {{.from = from, .to = to, .rail = rail, .gigabits_per_second = gbps}};
    return cluster;
  };
  const std::vector<std::pair<Cluster, const char*>> cases = {
      {Spines({{1, "leaf 9", 0.5}}),
       "no link is called 'leaf 9'; there are 'GPU 0 of server 0, up'"},
      {Spines({{-1, "leaf 0", 0.5}}), "atSeconds is -1"},
      {Spines({{1, "leaf 0", 2}}), "capacityFactor is 2"},
      {Spines({{1, "NIC 0 of server 0", 0}}), "there is no way round it"},
      {Spines({{1, "leaf 0 to spine 4", 0}}, Routing::kAdaptive),
       "no link is called 'leaf 0 to spine 4'"},
      {background(0, 9, 0, 100), "from server 0 to server 9"},
      {background(1, 1, 0, 100), "from server 1 to server 1"},
      {background(0, 1, 7, 100), "on rail 7"},
      {background(0, 1, 0, 0), "gbps is 0"},
  };
  for (const auto& [cluster, complaint] : cases) {
    const auto topology = Topology::Make(cluster);

    ASSERT_FALSE(topology.has_value()) << complaint;
    EXPECT_THAT(topology.error().message, HasSubstr(complaint));
  }
}

}  // namespace
}  // namespace eidolon::network::topology
