#include "services/network/topology/fabric.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/topology/fabrics.h"

namespace eidolon::network::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kRate = 48'900'000'000;

std::shared_ptr<const Fabric> Make(const FabricSpec& spec, std::uint32_t servers,
                                   std::uint32_t rails = 2) {
  auto fabric = MakeFabric(spec, {.servers = servers, .rails = rails, .rail_rate = kRate});
  EXPECT_TRUE(fabric.has_value()) << fabric.error().message;
  return fabric.value_or(nullptr);
}

std::vector<std::string> Way(const Fabric& fabric, Port from, Port to, std::uint32_t pair = 0) {
  Route route;
  fabric.Append(from, to, pair, 0, route);
  std::vector<std::string> names;
  for (LinkIndex link : route.Links()) names.push_back(fabric.LinkName(link));
  return names;
}

FabricSpec Graph() {
  FabricSpec spec{.kind = "graph"};
  spec.switches = {"a", "b", "c", "d"};
  spec.cables = {{0, 1, 400}, {0, 2, 400}, {1, 3, 400}, {2, 3, 400}};
  spec.plugs = {{0, 0, 0}, {1, 0, 3}};
  return spec;
}

TEST(FabricTest, ADragonflyCrossesOneGlobalLinkAtMost) {
  const auto fabric =
      Make({.kind = "dragonfly", .servers_per_router = 1, .routers_per_group = 4}, 16);

  EXPECT_THAT(Way(*fabric, {0, 0}, {2, 0}), ElementsAre("router 0 to router 2 of group 0"));
  // Group 0 meets group 3 at its router 3, group 3 meets group 0 at its router 0.
  EXPECT_THAT(Way(*fabric, {1, 0}, {14, 0}),
              ElementsAre("router 1 to router 3 of group 0", "group 0 to group 3",
                          "router 0 to router 2 of group 3"));
  EXPECT_THAT(Way(*fabric, {3, 0}, {12, 0}), ElementsAre("group 0 to group 3"));
}

TEST(FabricTest, ATorusGoesTheShorterWayRound) {
  const auto fabric = Make({.kind = "torus", .dimensions = {4, 3}}, 12);

  EXPECT_THAT(Way(*fabric, {0, 0}, {3, 0}), ElementsAre("server 0, dimension 0, down"));
  EXPECT_THAT(Way(*fabric, {0, 0}, {2, 0}),
              ElementsAre("server 0, dimension 0, up", "server 1, dimension 0, up"));
  EXPECT_THAT(Way(*fabric, {0, 0}, {9, 0}),
              ElementsAre("server 0, dimension 0, up", "server 1, dimension 1, down"));
}

TEST(FabricTest, StaticRoutingSpreadsQueuePairsOverSpines) {
  const auto fabric =
      Make({.kind = "leaf-spine", .routing = Routing::kEcmp, .cards_per_leaf = 4, .spines = 4}, 8);
  ASSERT_TRUE(fabric->Splits());
  std::set<std::string> used;
  for (std::uint32_t pair = 0; pair < 64; ++pair) {
    const auto way = Way(*fabric, {0, 0}, {7, 1}, pair);
    ASSERT_EQ(way.size(), 2u);
    // The route goes up to a spine and down from the same one.
    EXPECT_EQ(way[0].substr(way[0].rfind(' ')), way[1].substr(way[1].rfind(' ')));
    used.insert(way[0]);
  }

  EXPECT_EQ(used.size(), 4u);
  EXPECT_EQ(Way(*fabric, {0, 0}, {7, 1}, 5), Way(*fabric, {0, 0}, {7, 1}, 5));
}

TEST(FabricTest, AdaptiveRoutingCountsParallelLinksAsOne) {
  const auto fabric = Make({.kind = "leaf-spine", .oversubscription = 2, .cards_per_leaf = 4}, 8);

  EXPECT_FALSE(fabric->Splits());
  EXPECT_EQ(fabric->capacities()[0], kRate * 4 / 2);
}

TEST(FabricTest, AGraphTakesShortestWaysAndSpreadsEqualOnes) {
  FabricSpec spec = Graph();
  spec.routing = Routing::kEcmp;
  const auto fabric = Make(spec, 2, 1);
  std::set<std::vector<std::string>> ways;
  for (std::uint32_t pair = 0; pair < 32; ++pair) ways.insert(Way(*fabric, {0, 0}, {1, 0}, pair));

  EXPECT_EQ(ways, (std::set<std::vector<std::string>>{{"a to b", "b to d"}, {"a to c", "c to d"}}));
}

// Every way starts and ends where its NICs are, follows the links that Edges() shows, and does not
// turn back.
TEST(FabricTest, EveryWayIsConnectedInEveryKind) {
  const std::vector<std::pair<FabricSpec, std::uint32_t>> fabrics = {
      {{.kind = "rail-optimised", .cards_per_leaf = 4}, 12},
      {{.kind = "leaf-spine", .cards_per_leaf = 4}, 12},
      {{.kind = "fat-tree", .cards_per_leaf = 4, .leaves_per_pod = 2}, 24},
      {{.kind = "dragonfly", .servers_per_router = 2, .routers_per_group = 3}, 30},
      {{.kind = "torus", .dimensions = {3, 4, 2}}, 24},
  };
  for (const auto& [spec, servers] : fabrics) {
    const auto fabric = Make(spec, servers);
    for (std::uint32_t from = 0; from < servers; ++from) {
      for (std::uint32_t to = 0; to < servers; ++to) {
        if (from == to) continue;
        Route route;
        fabric->Append({from, 0}, {to, 0}, 0, 0, route);
        std::set<LinkIndex> seen;
        for (LinkIndex link : route.Links()) {
          ASSERT_LT(link, fabric->capacities().size());
          EXPECT_GT(fabric->capacities()[link], 0u);
          EXPECT_TRUE(seen.insert(link).second) << spec.kind;
        }
      }
    }
    EXPECT_FALSE(fabric->Edges().empty());
  }
}

// Switches in a row, or leaves that meet in the first.
FabricSpec ManySwitches(std::uint32_t count, bool row) {
  FabricSpec spec{.kind = "graph"};
  for (std::uint32_t at = 0; at < count; ++at) {
    spec.switches.push_back("s" + std::to_string(at));
    if (at > 0) spec.cables.push_back({row ? at - 1 : 0, at, 400});
    spec.plugs.push_back({at, 0, at});
  }
  return spec;
}

TEST(FabricTest, AGraphOfThousandsOfSwitchesIsCheckedInOneWalk) {
  const FabricSpec star = ManySwitches(4096, false);
  const auto walks = CheckGraph(star, {.servers = 4096, .rails = 1, .rail_rate = kRate});

  ASSERT_TRUE(walks.has_value()) << walks.error().message;
  EXPECT_EQ(*walks, 1u);
}

TEST(FabricTest, WhereNicsMayBeTooFarApartEachIsAsked) {
  const auto check = [](std::uint32_t count) {
    return CheckGraph(ManySwitches(count, true),
                      {.servers = count, .rails = 1, .rail_rate = kRate});
  };

  EXPECT_EQ(check(23).value(), 1u);
  // From the end of the row 30 cables do not tell that others are no farther apart; from the ninth
  // switch 22 do.
  EXPECT_EQ(check(31).value(), 9u);
  ASSERT_FALSE(check(46).has_value());
  EXPECT_THAT(check(46).error().message, HasSubstr("has 45 cables; at most 44 are simulated"));
}

TEST(FabricTest, SaysWhatIsWrong) {
  FabricSpec missing_plug = Graph();
  missing_plug.plugs.pop_back();
  FabricSpec apart = Graph();
  apart.cables = {{0, 1, 400}};
  FabricSpec no_capacity = Graph();
  no_capacity.cables[0].gigabits_per_second = 0;
  FabricSpec far_plug = Graph();
  far_plug.plugs.push_back({7, 0, 0});
  FabricSpec plugged_twice = Graph();
  plugged_twice.plugs.push_back({0, 0, 1});
  const std::vector<std::pair<FabricSpec, std::string>> cases = {
      {plugged_twice, "NIC 0 of server 0 is plugged in twice"},
      {{.kind = "dragonfly", .link_gigabits_per_second = -1}, "fabric.linkGbps is -1"},
      {{.kind = "torus", .dimensions = {2}, .link_gigabits_per_second = 1e300}, "fabric.linkGbps"},
      {{.kind = "mesh"}, "fabric 'mesh' is unknown"},
      {{.kind = "torus"}, "dimensions hold 0 servers"},
      {{.kind = "torus", .dimensions = {3}}, "dimensions hold 3 servers, but the cluster has 2"},
      {{.kind = "dragonfly", .servers_per_router = 0}, "serversPerRouter is 0"},
      {{.kind = "fat-tree", .leaves_per_pod = 0}, "leavesPerPod is 0"},
      {missing_plug, "NIC 0 of server 1 is plugged in nowhere"},
      {apart, "no way leads from switch"},
      {no_capacity, "from a to b has 0 Gbit/s"},
      {far_plug, "NIC 0 of server 7 does not exist"},
  };
  for (const auto& [spec, complaint] : cases) {
    const FabricSize size{.servers = 2, .rails = 1, .rail_rate = kRate};
    const auto fabric = MakeFabric(spec, size);
    const auto checked = CheckFabric(spec, size);

    ASSERT_FALSE(fabric.has_value()) << complaint;
    EXPECT_THAT(fabric.error().message, HasSubstr(complaint));
    ASSERT_FALSE(checked.has_value()) << complaint;
    EXPECT_EQ(checked.error().message, fabric.error().message);
  }
}

}  // namespace
}  // namespace eidolon::network::topology
