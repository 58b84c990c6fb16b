#include "services/controller/job/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/base/text.h"
#include "services/contract/cluster/limits.h"
#include "services/network/topology/document.h"

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
  const json two_nics = {{"preset", "dgx-h100"}, {"nics", {{"count", 2}}}};
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
      {TwoSwitches(), 2, two_nics},
      {{{"preset", "none"}}, 18, {{"preset", "gb200-nvl72"}}}};
  for (const auto& [fabric, servers, server] : rows) {
    const Read read = ReadCluster(fabric, servers, server);
    ASSERT_THAT(read.problems, IsEmpty()) << fabric << read.problems[0].detail;

    const json written = ToJson(read.spec);
    for (const auto& [name, value] : fabric.items()) {
      if (name == "plugs") continue;  // Written NIC by NIC.
      EXPECT_EQ(written["fabric"][name], value) << name;
    }
    Problems problems;
    Fields fields(written, "", &problems);
    EXPECT_EQ(ReadClusterSpec(&fields, 1), read.spec) << written;
    EXPECT_THAT(problems, IsEmpty());
  }
}

TEST(FabricTest, AServerWithoutANicNamedIsPluggedInWhole) {
  const json two_nics = {{"preset", "dgx-h100"}, {"nics", {{"count", 2}}}};
  const Read read = ReadCluster(TwoSwitches(), 2, two_nics);

  ASSERT_EQ(read.spec.fabric.plugs.size(), 4u);
  EXPECT_EQ(read.spec.fabric.plugs[1],
            (cluster::FabricSpec::Plug{.server = 0, .rail = 1, .at = 0}));
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
              "/fabric/cables/0/to", "'rigth' is not a switch of the list"},
        Wrong{"NoSuchServer", With(TwoSwitches(), "plugs", {{{"server", 8}, {"at", "left"}}}),
              "/fabric/plugs/0/server", "must be a whole number from 0 to 7"},
        Wrong{"NotPluggedIn", TwoSwitches(), "/fabric/plugs", "is plugged in nowhere"},
        Wrong{"SwitchTwice", With(TwoSwitches(), "switches", {"left", "left", "right"}),
              "/fabric/switches", "name 'left' twice"}),
    [](const auto& row) { return std::string(row.param.name); });

// Results of jobs and of `eidolon net` for one description. JSON is YAML.
struct BothSides {
  explicit BothSides(const json& document) {
    Fields fields(document, "", &problems);
    job = ReadClusterSpec(&fields, 1);
    net = network::topology::ParseCluster(document.dump());
  }
  bool JobsAccept() const { return problems.empty(); }
  bool NetAccepts() const { return net.has_value(); }

  Problems problems;
  ClusterSpec job;
  base::Result<network::topology::Cluster> net;
};

TEST(BothSidesTest, KnowTheSamePresets) {
  for (const std::string& name : network::topology::ClusterPresets()) {
    const BothSides read({{"servers", 36}, {"server", {{"preset", name}}}});

    ASSERT_TRUE(read.JobsAccept()) << name << ": " << Describe(read.problems);
    ASSERT_TRUE(read.NetAccepts()) << name << ": " << read.net.error().message;
    EXPECT_EQ(read.net->gpu, read.job.gpu) << name;
    EXPECT_EQ(read.net->gpus_per_server, read.job.gpus_per_server) << name;
    EXPECT_EQ(read.net->nvlink_generation, read.job.nvlink_generation) << name;
    EXPECT_EQ(read.net->nics, read.job.nic_count) << name;
    EXPECT_EQ(read.net->nic_gigabits_per_second, read.job.nic_gigabits_per_second) << name;
    EXPECT_EQ(read.net->servers_per_domain, read.job.servers_per_domain) << name;
    EXPECT_EQ(read.net->plan, read.job.fabric) << name;
    EXPECT_EQ(read.net->slingshot, read.job.slingshot) << name;
  }
  Problems problems;
  const json unknown = {{"server", {{"preset", "dgx-h101"}}}};
  Fields fields(unknown, "", &problems);
  ReadClusterSpec(&fields, 1);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].detail, HasSubstr(base::Join(network::topology::ClusterPresets(), ", ")));
}

// A number of a document, and the largest that it may be.
struct Limit {
  json::json_pointer at;
  json most;
};

TEST(BothSidesTest, KnowTheSameLimits) {
  const json small = {
      {"servers", 2},
      {"server", {{"gpu", "H100-SXM5-80GB"}, {"gpusPerServer", 1}, {"nics", {{"count", 1}}}}},
      {"fabric", {{"preset", "leaf-spine"}}}};
  const std::vector<Limit> limits = {
      {json::json_pointer("/servers"), cluster::kServersMax},
      {json::json_pointer("/server/gpusPerServer"), cluster::kGpusPerServerMax},
      {json::json_pointer("/server/gpuClock"), cluster::kGpuClockMax},
      {json::json_pointer("/server/powerLimit"), cluster::kPowerLimitWattsMax},
      {json::json_pointer("/server/nics/count"), cluster::kNicsMax},
      {json::json_pointer("/server/nics/gbps"), cluster::kNicGigabitsMax},
      {json::json_pointer("/server/serversPerDomain"), cluster::kServersPerDomainMax},
      {json::json_pointer("/fabric/oversubscription"), cluster::kOversubscriptionMax},
      {json::json_pointer("/fabric/spines"), cluster::kTierMax},
      {json::json_pointer("/fabric/cardsPerLeaf"), cluster::kTierMax},
  };
  for (const Limit& limit : limits) {
    json document = small;
    document[limit.at] = limit.most;
    const BothSides most(document);
    EXPECT_TRUE(most.JobsAccept()) << limit.at << ": " << Describe(most.problems);
    EXPECT_TRUE(most.NetAccepts()) << limit.at << ": " << most.net.error().message;

    document[limit.at] = limit.most.get<double>() + 1;
    if (limit.most.is_number_integer()) document[limit.at] = limit.most.get<std::int64_t>() + 1;
    const BothSides more(document);
    EXPECT_FALSE(more.JobsAccept()) << limit.at;
    EXPECT_FALSE(more.NetAccepts()) << limit.at;
  }
}

TEST(BothSidesTest, RefuseAsManySwitches) {
  json document = {{"servers", 2},
                   {"server", {{"gpu", "H100-SXM5-80GB"}, {"nics", {{"count", 1}}}}},
                   {"fabric",
                    {{"preset", "graph"},
                     {"plugs", {{{"server", 0}, {"at", "s0"}}, {{"server", 1}, {"at", "s0"}}}}}}};
  json& switches = document["fabric"]["switches"];
  for (std::size_t at = 0; at < cluster::kSwitchesMax; ++at) {
    switches.push_back("s" + std::to_string(at));
  }
  EXPECT_TRUE(BothSides(document).JobsAccept());
  EXPECT_TRUE(BothSides(document).NetAccepts());

  switches.push_back("one more");
  EXPECT_FALSE(BothSides(document).JobsAccept());
  EXPECT_FALSE(BothSides(document).NetAccepts());
}

TEST(BothSidesTest, TakeAnUnknownProcessorForTheUsualOneBesideTheGpu) {
  const auto server = [](const nlohmann::json& described) {
    return BothSides({{"servers", 1}, {"server", described}});
  };
  const BothSides said = server({{"preset", "dgx-a100"}, {"cpu", {{"model", "unknown"}}}});
  ASSERT_TRUE(said.JobsAccept()) << Describe(said.problems);
  EXPECT_TRUE(said.job.cpu_is_unknown);
  EXPECT_EQ(said.job.cpu, "EPYC-7742");
  EXPECT_EQ(ToJson(said.job)["server"]["cpu"], nlohmann::json({{"model", "unknown"}}));

  EXPECT_FALSE(server({{"preset", "dgx-a100"}}).job.cpu_is_unknown);
  const nlohmann::json plain = {{"gpu", "A100-SXM4-80GB"}, {"gpusPerServer", 2}};
  EXPECT_TRUE(server(plain).job.cpu_is_unknown);
  nlohmann::json named = plain;
  named["cpu"] = {{"model", "EPYC-7763"}};
  EXPECT_FALSE(server(named).job.cpu_is_unknown);
  EXPECT_EQ(server(named).job.cpu, "EPYC-7763");
}

TEST(BothSidesTest, ReadTheProcessorOfAServer) {
  const auto server = [](nlohmann::json cpu) {
    return BothSides(
        {{"servers", 1}, {"server", {{"preset", "dgx-a100"}, {"cpu", std::move(cpu)}}}});
  };
  const BothSides usual = server({{"speedRatio", "auto"}});
  ASSERT_TRUE(usual.JobsAccept()) << Describe(usual.problems);
  ASSERT_TRUE(usual.NetAccepts());
  EXPECT_EQ(usual.job.cpu, "EPYC-7742");
  EXPECT_EQ(usual.job.cpu_speed_ratio, 0);
  EXPECT_EQ(ToJson(usual.job)["server"]["cpu"], nlohmann::json({{"model", "EPYC-7742"}}));

  const BothSides chosen = server({{"model", "Grace"}, {"speedRatio", 1.5}});
  EXPECT_EQ(chosen.job.cpu, "Grace");
  EXPECT_EQ(chosen.job.cpu_speed_ratio, 1.5);
  EXPECT_FALSE(chosen.job.cpu_is_unknown);

  EXPECT_FALSE(server({{"model", "Pentium"}}).JobsAccept());
  EXPECT_FALSE(server({{"speedRatio", "fast"}}).JobsAccept());
  EXPECT_FALSE(server({{"speedRatio", "fast"}}).NetAccepts());
  EXPECT_FALSE(server({{"speedRatio", 0}}).JobsAccept());
}

TEST(BothSidesTest, ReadThePowerLimitOfTheGpus) {
  const auto server = [](nlohmann::json watts) {
    return BothSides({{"servers", 1}, {"server", {{"preset", "dgx-h100"}, {"powerLimit", watts}}}});
  };
  const BothSides limited = server(500);
  ASSERT_TRUE(limited.JobsAccept()) << Describe(limited.problems);
  EXPECT_TRUE(limited.NetAccepts());
  EXPECT_EQ(limited.job.gpu_power_limit_watts, 500);
  EXPECT_EQ(ToJson(limited.job)["server"]["powerLimit"], 500);
  const BothSides own({{"servers", 1}, {"server", {{"preset", "dgx-h100"}}}});
  EXPECT_FALSE(ToJson(own.job)["server"].contains("powerLimit"));

  EXPECT_THAT(Describe(server(49).problems), testing::HasSubstr("50"));
  EXPECT_FALSE(server("500 W").JobsAccept());
  EXPECT_FALSE(server(0).NetAccepts());
}

TEST(BothSidesTest, ReadTheClockOfTheGpus) {
  const auto server = [](nlohmann::json clock) {
    return BothSides({{"servers", 1}, {"server", {{"preset", "dgx-h100"}, {"gpuClock", clock}}}});
  };
  const BothSides slower = server(0.9);
  ASSERT_TRUE(slower.JobsAccept()) << Describe(slower.problems);
  EXPECT_TRUE(slower.NetAccepts());
  EXPECT_EQ(slower.job.gpu_clock, 0.9);
  EXPECT_EQ(ToJson(slower.job)["server"]["gpuClock"], 0.9);
  EXPECT_FALSE(ToJson(server(1).job)["server"].contains("gpuClock"));

  EXPECT_THAT(Describe(server(0.2).problems), testing::HasSubstr("0.25"));
  EXPECT_FALSE(server(0).JobsAccept());
  EXPECT_FALSE(server("fast").JobsAccept());
  EXPECT_FALSE(server(1.6).NetAccepts());
}

TEST(BothSidesTest, ReadAllThatADescriptionMayHold) {
  const BothSides read(
      {{"servers", 8},
       {"server", {{"preset", "dgx-h100"}, {"cpu", {{"speedRatio", 2}}}}},
       {"fabric",
        {{"preset", "leaf-spine"},
         {"routing", "ecmp"},
         {"faults", {{{"atSeconds", 1}, {"link", "leaf 0"}, {"capacityFactor", 1}}}},
         {"background", {{{"from", 0}, {"to", 5}, {"gbps", 10}, {"weight", 3}}}}}},
       {"software", {{"nccl", "2.27"}}},
       {"timing", {{"measureOnMiss", false}}}});

  ASSERT_TRUE(read.JobsAccept()) << Describe(read.problems);
  ASSERT_TRUE(read.NetAccepts()) << read.net.error().message;
  EXPECT_EQ(read.net->plan, read.job.fabric);
  EXPECT_EQ(read.net->faults, read.job.faults);
  EXPECT_EQ(read.net->background, read.job.background);
  EXPECT_EQ(read.job.background[0].weight, 3u);
  EXPECT_EQ(ToJson(read.job)["fabric"]["background"][0]["weight"], 3);
}

TEST(FabricTest, ADomainNeedsSwitchedNvlink) {
  const Read read =
      ReadCluster(json::object(), 2, {{"preset", "hgx-h100-4"}, {"serversPerDomain", 2}});

  ASSERT_FALSE(read.problems.empty());
  EXPECT_EQ(read.problems[0].pointer, "/server/serversPerDomain");
}

}  // namespace
}  // namespace eidolon::controller::job
