#include "services/network/collective/shape.h"

#include <vector>

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

using topology::Place;
using topology::Topology;

topology::Cluster ServersOfH100(std::uint32_t servers) {
  return {.name = "c",
          .servers = servers,
          .gpus_per_server = 8,
          .gpu = "H100-SXM5-80GB",
          .nvlink_generation = 4,
          .nvlink_switched = true,
          .nics = 8,
          .nic_gigabits_per_second = 400,
          .nic_latency_microseconds = 0,
          .fabric = "rail-optimised",
          .oversubscription = 1};
}

std::vector<Place> Grid(std::uint32_t servers, std::uint32_t devices) {
  std::vector<Place> places;
  for (std::uint32_t s = 0; s < servers; ++s) {
    for (std::uint32_t d = 0; d < devices; ++d) places.push_back({s, d});
  }
  return places;
}

Shape Of(const topology::Cluster& cluster, const std::vector<Place>& places) {
  return ShapeOf(*Topology::Make(cluster), places);
}

TEST(ShapeTest, CountsServersMembersAndTheirNics) {
  const Shape shape = Of(ServersOfH100(4), Grid(3, 2));

  EXPECT_EQ(shape.ranks, 6u);
  EXPECT_EQ(shape.nodes, 3u);
  EXPECT_EQ(shape.local_min, 2u);
  EXPECT_EQ(shape.nics, 2u);
  EXPECT_DOUBLE_EQ(shape.nic_line_rate, 50);
}

TEST(ShapeTest, FindsTheChannelsThatLogsShow) {
  topology::Cluster a100 = ServersOfH100(1);
  a100.gpu = "A100-SXM4-80GB";
  a100.nvlink_generation = 3;
  topology::Cluster b200 = ServersOfH100(1);
  b200.gpu = "B200-SXM-180GB";
  b200.nvlink_generation = 5;
  struct Case {
    const char* name;
    Shape shape;
    std::uint32_t rings;
    double ring_rate;
    std::uint32_t nvls;
    double nvls_rate;
  };
  const Case cases[] = {
      {"8 A100", Of(a100, Grid(1, 8)), 24, 10, 0, 0},
      {"8 H100", Of(ServersOfH100(1), Grid(1, 8)), 24, 15, 8, 40},
      {"4 H100", Of(ServersOfH100(1), Grid(1, 4)), 24, 15, 4, 60},
      {"2 H100", Of(ServersOfH100(1), Grid(1, 2)), 24, 15, 0, 0},
      {"2x8 H100", Of(ServersOfH100(2), Grid(2, 8)), 16, 22.5, 8, 45},
      {"10x1 H100", Of(ServersOfH100(10), Grid(10, 1)), 2, 24, 0, 0},
      {"8 B200", Of(b200, Grid(1, 8)), 24, 30, 16, 45},
  };
  for (const Case& row : cases) {
    EXPECT_EQ(RingChannels(row.shape).count, row.rings) << row.name;
    EXPECT_DOUBLE_EQ(RingChannels(row.shape).rate, row.ring_rate) << row.name;
    EXPECT_EQ(NvlsChannels(row.shape).count, row.nvls) << row.name;
    EXPECT_DOUBLE_EQ(NvlsChannels(row.shape).rate, row.nvls_rate) << row.name;
  }
}

TEST(ShapeTest, UnequalServersHaveNoNvls) {
  std::vector<Place> places = Grid(2, 4);
  places.push_back({0, 5});

  EXPECT_EQ(NvlsChannels(Of(ServersOfH100(2), places)).count, 0u);
}

TEST(ShapeTest, OnlyLatencyBeyondAUsualFabricCounts) {
  topology::Cluster cluster = ServersOfH100(2);
  cluster.nic_latency_microseconds = 5;

  EXPECT_DOUBLE_EQ(Of(cluster, Grid(2, 8)).hop_extra_us, 3);
  cluster.nic_latency_microseconds = 1.5;
  EXPECT_DOUBLE_EQ(Of(cluster, Grid(2, 8)).hop_extra_us, 0);
}

}  // namespace
}  // namespace eidolon::network::collective
