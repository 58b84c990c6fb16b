#include "services/network/topology/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/topology/document.h"

namespace eidolon::network::topology {
namespace {

using testing::HasSubstr;
using testing::Not;

Topology Of(const char* preset, std::uint32_t servers) {
  auto cluster = *ClusterPreset(preset);
  cluster.servers = servers;
  return *Topology::Make(cluster);
}

TEST(DrawTest, DescribesTiersAndAWay) {
  const std::string text = Describe(Of("dgx-h100", 64));

  EXPECT_THAT(text, HasSubstr("64 servers of 8 H100-SXM5-80GB, rail-optimised"));
  EXPECT_THAT(text, HasSubstr("leaf           32 links of 1564.8 GB/s"));
  EXPECT_THAT(text, HasSubstr("leaf 15, down"));
}

TEST(DrawTest, DrawsServersAndSwitches) {
  const std::string svg = Draw(Of("dgx-h100", 4));

  EXPECT_THAT(svg, HasSubstr("<svg xmlns"));
  EXPECT_THAT(svg, HasSubstr(">server 3</text>"));
  EXPECT_THAT(svg, HasSubstr(">leaf 7</text>"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(DrawTest, SaysHowManyItLeavesOut) {
  EXPECT_THAT(Draw(Of("dgx-h100", 100)), HasSubstr("and 36 more"));
}

TEST(DrawTest, DrawsAServerWithoutNeighbours) {
  EXPECT_THAT(Draw(Of("dgx-h100", 1)), HasSubstr("NVSwitch"));
  EXPECT_THAT(Draw(Of("ethernet-2x100", 1)), HasSubstr("host bridge"));
}

TEST(DrawTest, EscapesNames) {
  auto cluster = *ClusterPreset("dgx-h100");
  cluster.name = "<script>";
  const std::string svg = Draw(*Topology::Make(cluster));

  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
}

}  // namespace
}  // namespace eidolon::network::topology
