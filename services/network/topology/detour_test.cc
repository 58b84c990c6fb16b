#include "services/network/topology/detour.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/topology/topology.h"

namespace eidolon::network::topology {
namespace {

using testing::ElementsAre;

Topology Make(std::uint32_t servers, const std::string& fabric, FabricSpec plan,
              std::vector<Fault> faults) {
  const auto made = Topology::Make({.name = "c",
                                    .servers = servers,
                                    .gpus_per_server = 1,
                                    .gpu = "H100",
                                    .nvlink_generation = 4,
                                    .nvlink_switched = true,
                                    .nics = 1,
                                    .nic_gigabits_per_second = 400,
                                    .fabric = fabric,
                                    .plan = std::move(plan),
                                    .faults = std::move(faults)});
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return *made;
}

std::vector<std::string> Way(const Topology& topology, std::uint32_t from, std::uint32_t to) {
  Route route;
  topology.AppendFabric({from, 0}, {to, 0}, 0, route);
  std::vector<std::string> names;
  for (LinkIndex link : route.Links()) names.push_back(topology.LinkName(link));
  return names;
}

// Lets every link fail that the cluster's faults name.
void FailAll(Topology& topology) {
  for (const LinkChange& change :
       std::vector(topology.changes().begin(), topology.changes().end())) {
    topology.SetFailed(change.link, true);
  }
}

TEST(DetourTest, ATorusGoesTheOtherWayRound) {
  Topology topology = Make(4, "torus", {.dimensions = {4}}, {{1, "server 0, dimension 0, up", 0}});
  EXPECT_THAT(Way(topology, 0, 1), ElementsAre("server 0, dimension 0, up"));

  FailAll(topology);

  EXPECT_THAT(Way(topology, 0, 1),
              ElementsAre("server 0, dimension 0, down", "server 3, dimension 0, down",
                          "server 2, dimension 0, down"));
  EXPECT_THAT(Way(topology, 1, 0), ElementsAre("server 1, dimension 0, down")) << "it works";
}

TEST(DetourTest, ADragonflyGoesByAThirdRouterOrGroup) {
  const FabricSpec plan{.servers_per_router = 1, .routers_per_group = 3};
  Topology topology =
      Make(9, "dragonfly", plan,
           {{1, "router 0 to router 1 of group 0", 0}, {1, "group 0 to group 1", 0}});
  EXPECT_THAT(Way(topology, 0, 1), ElementsAre("router 0 to router 1 of group 0"));
  EXPECT_THAT(Way(topology, 1, 3), ElementsAre("group 0 to group 1"));

  FailAll(topology);

  EXPECT_THAT(Way(topology, 0, 1),
              ElementsAre("router 0 to router 2 of group 0", "router 2 to router 1 of group 0"));
  EXPECT_THAT(Way(topology, 1, 3),
              ElementsAre("router 1 to router 2 of group 0", "group 0 to group 2",
                          "router 0 to router 1 of group 2", "group 2 to group 1",
                          "router 2 to router 0 of group 1"));
  EXPECT_THAT(Way(topology, 3, 1), ElementsAre("group 1 to group 0"));
}

TEST(DetourTest, WhatIsCutOffKeepsItsWayAndWaits) {
  Topology topology = Make(2, "torus", {.dimensions = {2}}, {{1, "server 0, dimension 0", 0}});
  const auto before = Way(topology, 0, 1);

  FailAll(topology);

  EXPECT_EQ(Way(topology, 0, 1), before);
}

TEST(DetourTest, WaysComeBackWithTheLink) {
  Topology topology =
      Make(9, "torus", {.dimensions = {3, 3}}, {{1, "server 4, dimension 1, up", 0}});
  const auto before = Way(topology, 4, 7);
  FailAll(topology);
  EXPECT_NE(Way(topology, 4, 7), before);

  topology.SetFailed(topology.changes()[0].link, false);

  EXPECT_EQ(Way(topology, 4, 7), before);
}

}  // namespace
}  // namespace eidolon::network::topology
