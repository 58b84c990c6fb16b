#include "services/network/communicator/quarantine.h"

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

// The first GPUs of servers have live ranks, which those of all other GPUs of the server mirror.
std::vector<Decider> Live(std::vector<std::uint32_t> servers) {
  std::vector<Decider> live;
  for (const std::uint32_t server : servers) live.push_back({server, 0});
  return live;
}
std::vector<Decider> MirrorsOf(const std::vector<Place>& places) {
  std::vector<Decider> acting;
  for (const Place& place : places) acting.push_back({place.server, 0});
  return acting;
}

class QuarantineTest : public testing::Test {
 protected:
  std::vector<Decider> DecidersOf(Quarantine::Id id) const {
    const auto deciders = quarantine_.DecidersOf(id);
    return {deciders.begin(), deciders.end()};
  }

  const std::vector<std::vector<Place>> no_images_;
  const Topology topology_ = Servers(4);
  Quarantine quarantine_{topology_, {0, 1, 2, 3}};
};

TEST_F(QuarantineTest, TheMembersOfAGroupInsideOfAServerDecide) {
  // GPUs 3 to 7 mirror the last live one.
  std::vector<Decider> acting{{0, 0}, {0, 1}, {0, 2}};
  const std::vector<Decider> live = acting;
  acting.resize(8, live.back());
  quarantine_.Enter(7, WholeServer(0), no_images_, acting);
  EXPECT_EQ(DecidersOf(7), live);
  EXPECT_TRUE(quarantine_.RivalsOf(7).empty());
  quarantine_.Leave(7);
  EXPECT_TRUE(DecidersOf(7).empty());
}

TEST_F(QuarantineTest, NobodyDecidesOverAGroupOfSeveralServers) {
  const std::vector<Place> pair{{0, 0}, {1, 0}};
  quarantine_.Enter(7, pair, no_images_, Live({0, 1}));
  EXPECT_TRUE(DecidersOf(7).empty());
}

TEST_F(QuarantineTest, GroupsThatPassOverTheSameGpusAreRivals) {
  quarantine_.Enter(7, WholeServer(0), no_images_, MirrorsOf(WholeServer(0)));
  std::vector<Place> both = WholeServer(0);
  for (const Place place : WholeServer(1)) both.push_back(place);
  quarantine_.Enter(8, both, no_images_, MirrorsOf(both));
  const std::vector<Place> one_rail{{0, 3}, {1, 3}, {2, 3}};
  quarantine_.Enter(9, one_rail, no_images_, MirrorsOf(one_rail));
  EXPECT_EQ(DecidersOf(7), Live({0}));
  EXPECT_EQ(quarantine_.RivalsOf(7), std::vector<Quarantine::Id>{8}) << "9 leaves by its NICs";
}

TEST_F(QuarantineTest, APairOnTwoRailsPassesOverAnotherGpu) {
  quarantine_.Enter(7, WholeServer(0), no_images_, MirrorsOf(WholeServer(0)));
  const std::vector<Place> two_rails{{0, 3}, {1, 4}};
  quarantine_.Enter(8, two_rails, no_images_, Live({0, 1}));
  EXPECT_EQ(quarantine_.RivalsOf(7), std::vector<Quarantine::Id>{8});
}

TEST_F(QuarantineTest, AllRanksOfTheDomainThatCommunicateDecide) {
  const std::vector<Place> pair{{0, 1}, {0, 2}};
  const std::vector<Decider> both{{0, 1}, {0, 2}};
  quarantine_.Enter(7, pair, no_images_, both);
  EXPECT_EQ(DecidersOf(7), both);
  const std::vector<Place> other_pair{{0, 2}, {0, 3}};
  const std::vector<Decider> others{{0, 2}, {0, 3}};
  quarantine_.Enter(8, other_pair, no_images_, others);
  EXPECT_EQ(DecidersOf(7), (std::vector<Decider>{{0, 1}, {0, 2}, {0, 3}}));
  EXPECT_EQ(DecidersOf(8), DecidersOf(7));
  quarantine_.Leave(8);
  EXPECT_EQ(DecidersOf(7), both);
}

TEST_F(QuarantineTest, MirroredRanksOfOthersWithinTheServerEndTheQuarantine) {
  quarantine_.Enter(7, WholeServer(0), no_images_, MirrorsOf(WholeServer(0)));
  const std::vector<Place> members{{1, 0}, {1, 1}, {2, 0}, {2, 1}};
  const std::vector<std::vector<Place>> images{{{0, 4}, {0, 5}, {3, 4}, {3, 5}}};
  quarantine_.Enter(8, members, images, MirrorsOf(members));
  EXPECT_TRUE(DecidersOf(7).empty()) << "server 1 alone decides when 8 runs";
  quarantine_.Leave(8);
  EXPECT_EQ(DecidersOf(7), Live({0}));
}

TEST_F(QuarantineTest, AMirroredRankThatMirrorsARankOfAnotherServerEndsTheQuarantine) {
  quarantine_.Enter(7, WholeServer(0), no_images_, MirrorsOf(WholeServer(0)));
  // GPU 1 of server 0 sends when rank 1 of server 1 does: no call of server 0 comes before that.
  const std::vector<Place> members{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const std::vector<Decider> acting{{0, 0}, {1, 1}, {1, 0}, {1, 1}};
  quarantine_.Enter(8, members, no_images_, acting);
  EXPECT_TRUE(DecidersOf(7).empty());
  quarantine_.Leave(8);
  EXPECT_EQ(DecidersOf(7), Live({0}));
}

TEST(QuarantineOfDomainsTest, ServersOfOneDomainDecideTogether) {
  const Topology topology = Servers(4, 2);
  Quarantine quarantine(topology, {0, 1, 2, 3});
  const std::vector<Place> pair{{0, 0}, {1, 0}};
  const std::vector<Decider> live{{0, 0}, {1, 0}};
  quarantine.Enter(7, pair, {}, live);
  EXPECT_EQ(quarantine.DecidersOf(7).size(), 2u);
}

}  // namespace
}  // namespace eidolon::network::communicator
