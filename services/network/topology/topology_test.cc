#include "services/network/topology/topology.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::network::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster Dgx(std::uint32_t servers, std::string fabric = "rail-optimised") {
  return {.name = "c",
          .servers = servers,
          .gpus_per_server = 8,
          .gpu = "H100-SXM5-80GB",
          .nvlink_generation = 4,
          .nvlink_switched = true,
          .nics = 8,
          .nic_gigabits_per_second = 400,
          .nic_latency_microseconds = 0,
          .fabric = std::move(fabric),
          .oversubscription = 1};
}

std::vector<std::string> Names(const Topology& topology, Place from, Place to) {
  std::vector<std::string> names;
  const Route route = topology.Between(from, to);
  for (LinkIndex link : route.Links()) {
    names.push_back(topology.LinkName(link));
  }
  return names;
}

TEST(TopologyTest, StaysOnNvlinkInsideAServer) {
  const auto topology = Topology::Make(Dgx(2));
  ASSERT_TRUE(topology.has_value());

  EXPECT_THAT(Names(*topology, {1, 2}, {1, 7}),
              ElementsAre("GPU 2 of server 1, up", "GPU 7 of server 1, down"));
}

TEST(TopologyTest, TakesOneHopWithinARailOfOneLeaf) {
  const auto topology = Topology::Make(Dgx(32));

  EXPECT_THAT(Names(*topology, {0, 3}, {31, 3}),
              ElementsAre("NIC 3 of server 0, out", "NIC 3 of server 31, in"));
}

TEST(TopologyTest, CrossesRailsByNvlinkBeforeTheNic) {
  const auto topology = Topology::Make(Dgx(2));

  EXPECT_THAT(
      Names(*topology, {0, 0}, {1, 5}),
      ElementsAre("GPU 0 of server 0, up", "NIC 5 of server 0, out", "NIC 5 of server 1, in"));
}

TEST(TopologyTest, ClimbsToTheSpineBetweenLeaves) {
  const auto rail = Topology::Make(Dgx(64));
  const auto leaf_spine = Topology::Make(Dgx(64, "leaf-spine"));

  EXPECT_THAT(Names(*rail, {0, 1}, {40, 1}), ElementsAre("NIC 1 of server 0, out", "leaf 1, up",
                                                         "leaf 9, down", "NIC 1 of server 40, in"));
  EXPECT_THAT(
      Names(*leaf_spine, {0, 1}, {5, 1}),
      ElementsAre("NIC 1 of server 0, out", "leaf 0, up", "leaf 1, down", "NIC 1 of server 5, in"));
}

TEST(TopologyTest, LeavesThePodOnlyInALargeFatTree) {
  const auto topology = Topology::Make(Dgx(256, "fat-tree"));

  EXPECT_THAT(Names(*topology, {0, 0}, {200, 0}),
              ElementsAre("NIC 0 of server 0, out", "leaf 0, up", "pod 0, up", "pod 1, down",
                          "leaf 50, down", "NIC 0 of server 200, in"));
}

TEST(TopologyTest, OversubscriptionThinsTheTierAboveTheLeaves) {
  Cluster cluster = Dgx(64);
  cluster.oversubscription = 2;
  const auto topology = Topology::Make(cluster);
  const auto route = topology->Between({0, 0}, {40, 0});

  const std::uint64_t nic = topology->Capacities()[route.links[0]];
  EXPECT_EQ(nic, 48'900'000'000u);
  EXPECT_EQ(topology->Capacities()[route.links[1]], nic * 32 / 2);
}

TEST(TopologyTest, GivesEachGpuItsRail) {
  Cluster cluster = Dgx(2);
  cluster.nics = 4;
  const auto four = Topology::Make(cluster);
  cluster.nics = 16;
  const auto sixteen = Topology::Make(cluster);

  EXPECT_EQ(four->RailOf(0), 0u);
  EXPECT_EQ(four->RailOf(7), 3u);
  EXPECT_EQ(sixteen->wiring().rails, 8u);
  EXPECT_EQ(sixteen->wiring().line_rate, 100'000'000'000u);
}

TEST(TopologyTest, KnowsAGpuByItsComputeCapabilityWhateverItsName) {
  Cluster cluster = Dgx(1);
  cluster.gpu = "MyGpu-64GB";
  EXPECT_FALSE(Topology::Make(cluster).has_value());
  for (const auto& [major, generation] :
       {std::pair{7u, Generation::kVolta}, std::pair{8u, Generation::kAmpere},
        std::pair{9u, Generation::kHopper}, std::pair{10u, Generation::kBlackwell},
        std::pair{12u, Generation::kBlackwell}}) {
    cluster.gpu_compute_major = major;

    const auto topology = Topology::Make(cluster);

    ASSERT_TRUE(topology.has_value()) << topology.error().message;
    EXPECT_EQ(topology->wiring().generation, generation) << major;
  }
}

TEST(TopologyTest, NamesTheFieldItRefuses) {
  struct Case {
    std::function<void(Cluster&)> spoil;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](Cluster& c) { c.servers = 0; }, "servers is 0"},
      {[](Cluster& c) { c.gpus_per_server = 0; }, "gpus_per_server is 0"},
      {[](Cluster& c) { c.nics = 0; }, "nics.count is 0"},
      {[](Cluster& c) { c.nic_gigabits_per_second = -1; }, "nics.gigabits_per_second is -1"},
      {[](Cluster& c) { c.nic_gigabits_per_second = std::stod("nan"); }, "gigabits_per_second is"},
      {[](Cluster& c) { c.oversubscription = 0.5; }, "fabric.oversubscription is 0.5"},
      {[](Cluster& c) { c.fabric = "mesh"; }, "fabric 'mesh' is unknown"},
      {[](Cluster& c) { c.fabric = "none"; }, "fabric 'none' connects one server"},
      {[](Cluster& c) { c.gpu = "Voodoo2"; }, "does not know GPU 'Voodoo2'"},
      {[](Cluster& c) { c.nvlink_generation = 9; }, "nvlink generation 9 is unknown"},
  };
  for (const Case& row : cases) {
    Cluster cluster = Dgx(2);
    row.spoil(cluster);

    const auto topology = Topology::Make(cluster);

    ASSERT_FALSE(topology.has_value()) << row.message;
    EXPECT_THAT(topology.error().message, HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace eidolon::network::topology
