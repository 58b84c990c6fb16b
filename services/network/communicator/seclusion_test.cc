#include "services/network/communicator/seclusion.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::communicator {
namespace {

using topology::Place;
using topology::Topology;

Topology Servers(std::uint32_t servers, std::uint32_t servers_per_domain = 1) {
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
                          .oversubscription = 1,
                          .servers_per_domain = servers_per_domain});
}

std::vector<Place> WholeServer(std::uint32_t server) {
  std::vector<Place> places;
  for (std::uint32_t device = 0; device < 8; ++device) places.push_back({server, device});
  return places;
}

const std::vector<std::uint32_t> kPlacement{0, 1, 2, 3};
const std::vector<std::vector<Place>> kNoImages;

TEST(SeclusionTest, AGroupInsideOfAServerIsSecluded) {
  const Topology topology = Servers(4);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1});
  seclusion.Enter(7, WholeServer(0), kNoImages, std::vector<std::uint32_t>{0});
  EXPECT_EQ(seclusion.ServerOf(7), 0u);
  EXPECT_TRUE(seclusion.RivalsOf(7).empty());
  seclusion.Leave(7);
  EXPECT_EQ(seclusion.ServerOf(7), std::nullopt);
}

TEST(SeclusionTest, AGroupOfSeveralServersIsNot) {
  const Topology topology = Servers(4);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1});
  const std::vector<Place> pair{{0, 0}, {1, 0}};
  seclusion.Enter(7, pair, kNoImages, std::vector<std::uint32_t>{0, 1});
  EXPECT_EQ(seclusion.ServerOf(7), std::nullopt);
}

TEST(SeclusionTest, GroupsThatPassOverTheSameGpusAreRivals) {
  const Topology topology = Servers(4);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1});
  seclusion.Enter(7, WholeServer(0), kNoImages, std::vector<std::uint32_t>{0});
  std::vector<Place> both = WholeServer(0);
  for (const Place place : WholeServer(1)) both.push_back(place);
  seclusion.Enter(8, both, kNoImages, std::vector<std::uint32_t>{0, 1});
  const std::vector<Place> one_rail{{0, 3}, {1, 3}, {2, 3}};
  seclusion.Enter(9, one_rail, kNoImages, std::vector<std::uint32_t>{0, 1});
  EXPECT_EQ(seclusion.ServerOf(7), 0u);
  EXPECT_EQ(seclusion.RivalsOf(7), std::vector<Seclusion::Id>{8}) << "9 leaves by its NICs";
}

TEST(SeclusionTest, APairOnTwoRailsPassesOverAnotherGpu) {
  const Topology topology = Servers(4);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1});
  seclusion.Enter(7, WholeServer(0), kNoImages, std::vector<std::uint32_t>{0});
  const std::vector<Place> two_rails{{0, 3}, {1, 4}};
  seclusion.Enter(8, two_rails, kNoImages, std::vector<std::uint32_t>{0, 1});
  EXPECT_EQ(seclusion.RivalsOf(7), std::vector<Seclusion::Id>{8});
}

TEST(SeclusionTest, GhostsOfOthersWithinTheServerEndTheSeclusion) {
  const Topology topology = Servers(4);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1});
  seclusion.Enter(7, WholeServer(0), kNoImages, std::vector<std::uint32_t>{0});
  const std::vector<Place> members{{1, 0}, {1, 1}, {2, 0}, {2, 1}};
  const std::vector<std::vector<Place>> images{{{0, 4}, {0, 5}, {3, 4}, {3, 5}}};
  seclusion.Enter(8, members, images, std::vector<std::uint32_t>{1});
  EXPECT_EQ(seclusion.ServerOf(7), std::nullopt) << "server 1 alone decides when 8 runs";
  seclusion.Leave(8);
  EXPECT_EQ(seclusion.ServerOf(7), 0u);
}

TEST(SeclusionTest, ADomainOfTwoServersWithProcessesIsShared) {
  const Topology topology = Servers(4, 2);
  Seclusion seclusion(topology, kPlacement, std::vector<std::uint32_t>{0, 1, 2});
  seclusion.Enter(7, WholeServer(0), kNoImages, std::vector<std::uint32_t>{0});
  seclusion.Enter(8, WholeServer(2), kNoImages, std::vector<std::uint32_t>{2});
  EXPECT_EQ(seclusion.ServerOf(7), std::nullopt);
  EXPECT_EQ(seclusion.ServerOf(8), 2u);
}

}  // namespace
}  // namespace eidolon::network::communicator
