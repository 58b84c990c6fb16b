#include "services/network/topology/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/network/topology/topology.h"

namespace eidolon::network::topology {
namespace {

using testing::HasSubstr;

TEST(DocumentTest, ReadsAClusterOverItsPreset) {
  const auto cluster = ParseCluster(R"(
name: pod
servers: 64
server: {preset: dgx-h100, nics: {count: 4}}
fabric: {preset: leaf-spine, oversubscription: 2, routing: ecmp, spines: 16}
)");

  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  EXPECT_EQ(cluster->name, "pod");
  EXPECT_EQ(cluster->servers, 64u);
  EXPECT_EQ(cluster->gpus_per_server, 8u);
  EXPECT_EQ(cluster->nics, 4u);
  EXPECT_EQ(cluster->nic_gigabits_per_second, 400);
  EXPECT_EQ(cluster->fabric, "leaf-spine");
  EXPECT_EQ(cluster->plan.routing, Routing::kEcmp);
  EXPECT_EQ(cluster->plan.spines, 16u);
}

TEST(DocumentTest, ReadsAGraph) {
  const auto cluster = ParseCluster(R"(
servers: 2
server: {preset: dgx-h100, nics: {count: 2}}
fabric:
  preset: graph
  switches: [one, two]
  cables: [{from: one, to: two, gbps: 100}]
  plugs: [{server: 0, at: one}, {server: 1, nic: 0, at: two}, {server: 1, nic: 1, at: one}]
)");

  ASSERT_TRUE(cluster.has_value()) << cluster.error().message;
  EXPECT_EQ(cluster->plan.cables.size(), 1u);
  EXPECT_EQ(cluster->plan.plugs.size(), 4u);
  const auto topology = Topology::Make(*cluster);
  ASSERT_TRUE(topology.has_value()) << topology.error().message;
  EXPECT_EQ(topology->TierOf(topology->first_fabric()), "cable");
}

TEST(DocumentTest, EveryPresetIsACluster) {
  for (const std::string& name : ClusterPresets()) {
    auto cluster = ClusterPreset(name);
    ASSERT_TRUE(cluster.has_value());
    for (std::uint32_t servers : {cluster->servers, cluster->servers * 4}) {
      cluster->servers = servers;
      const auto topology = Topology::Make(*cluster);

      ASSERT_TRUE(topology.has_value()) << name << ": " << topology.error().message;
      EXPECT_GT(topology->LinkCount(), 0u);
    }
  }
}

TEST(DocumentTest, NamesTheFieldThatIsWrong) {
  struct Case {
    const char* yaml;
    const char* complaint;
  };
  const Case cases[] = {
      {"servers: [1", "line"},
      {"just text", "not a mapping"},
      {"servers: many", "servers is 'many', which is not a number"},
      {"servers: 2.5", "servers is '2.5'; it must be a whole number"},
      {"servers: -1", "must be a whole number"},
      {"server: 8", "server is not a mapping"},
      {"server: {preset: dgx-h9000}", "preset 'dgx-h9000' is unknown"},
      {"server: {gpusPerSever: 8}", "server.gpusPerSever is unknown; did you mean gpusPerServer?"},
      {"server: {nvlink: {switch: maybe}}", "server.nvlink.switch is 'maybe'"},
      {"servers: 1\nservers: 2", "servers is given twice"},
      {"server: {nics: {count: 1, count: 2}}", "server.nics.count is given twice"},
      {"? [a]\n: 1", "has a field whose name is not a word"},
      {"fabric: {routing: random}", "fabric.routing is 'random'"},
      {"fabric: {dimensions: [4, big]}", "fabric.dimensions must hold whole numbers"},
      {"fabric: {switches: [a, a]}", "fabric.switches must hold names, each once"},
      {"fabric: {switches: [a], cables: [{from: a, to: b, gbps: 1}]}",
       "fabric.cables[0].to is 'b', which is not a switch"},
      {"fabric: {switches: [a], plugs: [{server: 0, at: x}]}", "fabric.plugs[0].at is 'x'"},
  };
  for (const Case& row : cases) {
    const auto cluster = ParseCluster(row.yaml);

    ASSERT_FALSE(cluster.has_value()) << row.yaml;
    EXPECT_THAT(cluster.error().message, HasSubstr(row.complaint)) << row.yaml;
  }
}

TEST(DocumentTest, RefusesNestingWithoutEnd) {
  EXPECT_FALSE(ParseCluster(std::string(200'000, '[')).has_value());
  std::string dashes;
  for (int at = 0; at < 100'000; ++at) dashes += "- ";
  EXPECT_FALSE(ParseCluster(dashes).has_value());
}

// A few bytes of aliases must not become billions of NICs.
TEST(DocumentTest, RefusesMoreNicsThanAnyClusterHas) {
  std::string yaml =
      "server: {gpusPerServer: 1024, nics: {count: 1024}}\nfabric:\n  switches: [a]\n"
      "  plugs: [&p {server: 0, at: a}";
  for (int at = 0; at < 2000; ++at) yaml += ", *p";
  const auto cluster = ParseCluster(yaml + "]\n");

  ASSERT_FALSE(cluster.has_value());
  EXPECT_THAT(cluster.error().message, HasSubstr("fabric.plugs name more than"));
}

}  // namespace
}  // namespace eidolon::network::topology
