#include "services/cluster/fabric_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "services/controller/job/cluster.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

struct Read {
  ClusterSpec spec;
  Problems problems;
};

// A cluster of DGX H100 with this fabric.
Read ReadCluster(const json& fabric, std::uint32_t servers = 8,
                 const json& server = {{"preset", "dgx-h100"}}) {
  const json document = {{"servers", servers}, {"server", server}, {"fabric", fabric}};
  Read read;
  Fields fields(document, "", &read.problems);
  read.spec = ReadClusterSpec(&fields, 1);
  return read;
}

json TwoSwitches() {
  return {{"preset", "graph"},
          {"switches", {"left", "right"}},
          {"cables", {{{"from", "left"}, {"to", "right"}, {"gbps", 400}}}},
          {"plugs",
           {{{"server", 0}, {"at", "left"}},
            {{"server", 1}, {"nic", 0}, {"at", "right"}},
            {{"server", 1}, {"nic", 1}, {"at", "left"}}}}};
}

TEST(FabricTest, EveryKindIsReadAndWrittenWhole) {
  const json two_cards = {{"preset", "dgx-h100"}, {"nics", {{"count", 2}}}};
  const std::vector<std::tuple<json, std::uint32_t, json>> rows = {
      {{{"preset", "dragonfly"},
        {"serversPerRouter", 2},
        {"routersPerGroup", 2},
        {"linkGbps", 800}},
       8,
       {{"preset", "dgx-h100"}}},
      {{{"preset", "torus"}, {"dimensions", {2, 2, 2}}}, 8, {{"preset", "dgx-h100"}}},
      {{{"preset", "fat-tree"}, {"leavesPerPod", 2}, {"cardsPerLeaf", 8}, {"sharp", true}},
       8,
       {{"preset", "dgx-h100"}}},
      {{{"preset", "rail-optimised"}, {"routing", "ecmp"}, {"spines", 2}, {"slingshot", true}},
       8,
       {{"preset", "dgx-h100"}}},
      {TwoSwitches(), 2, two_cards},
      {{{"preset", "none"}}, 18, {{"preset", "gb200-nvl72"}}}};
  for (const auto& [fabric, servers, server] : rows) {
    const Read read = ReadCluster(fabric, servers, server);
    ASSERT_THAT(read.problems, IsEmpty()) << fabric << read.problems[0].detail;

    const json written = ToJson(read.spec);
    for (const auto& [name, value] : fabric.items()) {
      if (name == "plugs") continue;  // Written card by card.
      EXPECT_EQ(written["fabric"][name], value) << name;
    }
    Problems problems;
    Fields fields(written, "", &problems);
    EXPECT_EQ(ReadClusterSpec(&fields, 1), read.spec) << written;
    EXPECT_THAT(problems, IsEmpty());
  }
}

TEST(FabricTest, AServerWithoutACardNamedIsPluggedInWhole) {
  const json two_cards = {{"preset", "dgx-h100"}, {"nics", {{"count", 2}}}};
  const Read read = ReadCluster(TwoSwitches(), 2, two_cards);

  ASSERT_EQ(read.spec.fabric.plugs.size(), 4u);
  EXPECT_EQ(read.spec.fabric.plugs[1],
            (network::topology::FabricSpec::Plug{.server = 0, .rail = 1, .at = 0}));
}

TEST(FabricTest, ARackOfNvl72NeedsNoFabricAndTwoDo) {
  const json server = {{"preset", "gb200-nvl72"}};

  EXPECT_EQ(ReadCluster(json::object(), 18, server).spec.fabric.kind, "none");
  EXPECT_EQ(ReadCluster(json::object(), 36, server).spec.fabric.kind, "rail-optimised");
  EXPECT_EQ(ReadCluster(json::object(), 18, server).spec.servers_per_domain, 18u);
}

struct Wrong {
  const char* name;
  json fabric;
  const char* pointer;
  const char* detail;
};

void PrintTo(const Wrong& row, std::ostream* out) { *out << row.name; }

class WrongFabricTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongFabricTest, IsReportedAtItsField) {
  const Read read = ReadCluster(GetParam().fabric);

  ASSERT_FALSE(read.problems.empty());
  EXPECT_EQ(read.problems[0].pointer, GetParam().pointer);
  EXPECT_THAT(read.problems[0].detail, HasSubstr(GetParam().detail));
}

json With(json fabric, const char* name, json value) {
  fabric[name] = std::move(value);
  return fabric;
}

INSTANTIATE_TEST_SUITE_P(
    Fields, WrongFabricTest,
    testing::Values(
        Wrong{"Kind", {{"preset", "hypercube"}}, "/fabric/preset", "Allowed: rail-optimised"},
        Wrong{"TorusOfOtherSize",
              {{"preset", "torus"}, {"dimensions", {2, 2}}},
              "/fabric/dimensions",
              "hold 4 servers, but the cluster has 8"},
        Wrong{"TorusWithout", {{"preset", "torus"}}, "/fabric/dimensions", "hold 0 servers"},
        Wrong{"Dimension",
              {{"preset", "torus"}, {"dimensions", {2, "four"}}},
              "/fabric/dimensions/1",
              "must be a whole number from 1 to 64, not 'four'"},
        Wrong{"OfAnotherKind",
              {{"preset", "fat-tree"}, {"routersPerGroup", 4}},
              "/fabric/routersPerGroup",
              "has no meaning for preset 'fat-tree'; it is one of dragonfly's"},
        Wrong{"GraphWithoutSwitches", {{"preset", "graph"}}, "/fabric/switches", "names 0"},
        Wrong{"NoSuchSwitch",
              With(TwoSwitches(), "cables", {{{"from", "left"}, {"to", "rigth"}, {"gbps", 1}}}),
              "/fabric/cables/0/to", "'rigth' is no switch of the list"},
        Wrong{"NoSuchServer", With(TwoSwitches(), "plugs", {{{"server", 8}, {"at", "left"}}}),
              "/fabric/plugs/0/server", "must be a whole number from 0 to 7"},
        Wrong{"NotPluggedIn", TwoSwitches(), "/fabric/plugs", "is plugged in nowhere"},
        Wrong{"SwitchTwice", With(TwoSwitches(), "switches", {"left", "left", "right"}),
              "/fabric/switches", "name 'left' twice"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(FabricTest, ADomainNeedsSwitchedNvlink) {
  const Read read =
      ReadCluster(json::object(), 2, {{"preset", "hgx-h100-4"}, {"serversPerDomain", 2}});

  ASSERT_FALSE(read.problems.empty());
  EXPECT_EQ(read.problems[0].pointer, "/server/serversPerDomain");
}

}  // namespace
}  // namespace eidolon::controller::job
