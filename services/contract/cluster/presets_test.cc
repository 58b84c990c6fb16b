#include "services/contract/cluster/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace eidolon::cluster {
namespace {

TEST(PresetsTest, NamesAreSortedAndAllKnown) {
  const std::vector<std::string> names = PresetNames();

  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string& name : names) EXPECT_TRUE(IsPreset(name)) << name;
  EXPECT_FALSE(IsPreset("dgx"));
  EXPECT_THAT(names, testing::IsSupersetOf({"dgx-b200", "hgx-h100-4", "slingshot-200", "roce-8x400",
                                            "ethernet-2x100", "ib-8x400"}));
}

TEST(PresetsTest, EachNamesAGpuNicsAndAFabric) {
  for (const std::string& name : PresetNames()) {
    const ClusterSpec spec = MakePreset(name);
    EXPECT_FALSE(spec.gpu.empty()) << name;
    EXPECT_GT(spec.gpus_per_server, 0u) << name;
    EXPECT_GT(spec.nic_gigabits_per_second, 0) << name;
    EXPECT_NE(spec.fabric.kind, "none") << name;
    EXPECT_FALSE(spec.NeedsFabric()) << name << ": one unit is one server, or one domain";
  }
}

TEST(PresetsTest, ARackIsADomainOfEighteenTrays) {
  const ClusterSpec rack = MakePreset("gb200-nvl72");

  EXPECT_EQ(rack.servers, 18u);
  EXPECT_EQ(rack.servers_per_domain, 18u);
  EXPECT_EQ(rack.gpus_per_server, 4u);
}

TEST(PresetsTest, ANetworkComesWithItsPreset) {
  const ClusterSpec roce = MakePreset("roce-8x400");
  EXPECT_EQ(roce.fabric.kind, "leaf-spine");
  EXPECT_EQ(roce.fabric.routing, Routing::kEcmp);
  EXPECT_EQ(roce.fabric.cards_per_leaf, 64u);

  const ClusterSpec slingshot = MakePreset("slingshot-200");
  EXPECT_EQ(slingshot.fabric.kind, "dragonfly");
  EXPECT_EQ(slingshot.fabric.routers_per_group, 32u);
  EXPECT_TRUE(slingshot.slingshot);

  const ClusterSpec ethernet = MakePreset("ethernet-2x100");
  EXPECT_EQ(ethernet.host_bridges, 2u);
  EXPECT_EQ(ethernet.nic_latency_microseconds, 5);
  EXPECT_EQ(ethernet.fabric.cards_per_leaf, 32u);
}

}  // namespace
}  // namespace eidolon::cluster
