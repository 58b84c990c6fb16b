#include "services/controller/search/run_part.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace eidolon::controller::search {
namespace {

using nlohmann::json;

// A job on two servers, with one of its fields set.
json With(const std::string& pointer, const json& value) {
  json spec = {{"cluster", {{"servers", 2}, {"server", {{"preset", "dgx-h100"}}}}},
               {"command", {"torchrun", "train.py"}},
               {"iterations", {{"measure", 3}}}};
  spec[json::json_pointer(pointer)] = value;
  return spec;
}

std::string Changed(const std::string& pointer, const json& value) {
  return RunPartOf(With(pointer, value));
}

TEST(RunPartTest, OneRunAnswersForClocksNetworksAndPricesOfOneProcessor) {
  const std::string part = Changed("/iterations/measure", 3);
  ASSERT_NE(part, "");

  EXPECT_EQ(Changed("/cluster/server/gpuClock", 0.9), part);
  EXPECT_EQ(Changed("/cluster/server/powerLimit", 500), part);
  EXPECT_EQ(Changed("/cluster/server/nics", {{"count", 4}, {"gbps", 100}}), part);
  EXPECT_EQ(Changed("/cluster/fabric", {{"preset", "fat-tree"}}), part);
  EXPECT_EQ(Changed("/iterations/tokens", 1000), part);
  EXPECT_EQ(Changed("/cluster/server/preset", "dgx-h200"), part) << "the same processor";
}

TEST(RunPartTest, TheProgramRunsForEverySizeCommandAndProcessor) {
  const std::string part = Changed("/iterations/measure", 3);

  EXPECT_NE(Changed("/iterations/measure", 4), part);
  EXPECT_NE(Changed("/cluster/servers", 4), part);
  EXPECT_NE(Changed("/cluster/server/gpusPerServer", 4), part);
  EXPECT_NE(Changed("/command/1", "other.py"), part);
  EXPECT_NE(Changed("/env", json::array({{{"name", "A"}, {"value", "1"}}})), part);
  EXPECT_NE(Changed("/cluster/server/preset", "dgx-a100"), part) << "another processor";
  EXPECT_NE(Changed("/cluster/server/cpu", {{"model", "EPYC-9654"}}), part);
}

TEST(RunPartTest, WhatIsNoJobHasNone) {
  EXPECT_EQ(Changed("/cluster/servers", "two"), "");
  EXPECT_EQ(Changed("/command", json::array()), "");
  EXPECT_EQ(MemoryPartOf(With("/cluster/servers", "two")), "");
}

TEST(RunPartTest, RoomInAGpuDoesNotDependOnClocksAndRates) {
  const std::string part = MemoryPartOf(With("/iterations/measure", 3));

  EXPECT_EQ(MemoryPartOf(With("/cluster/server/gpuClock", 0.9)), part);
  EXPECT_EQ(MemoryPartOf(With("/cluster/server/nics/gbps", 100)), part);
  EXPECT_EQ(MemoryPartOf(With("/cluster/fabric", {{"preset", "fat-tree"}})), part);
  EXPECT_NE(MemoryPartOf(With("/cluster/server/preset", "dgx-h200")), part);
}

// Returns whether a search has a replayed parameter when `field` is filled in from a list.
bool HasReplayed(const std::string& pointer, const json& text) {
  SearchSpec spec;
  spec.job = With(pointer, text);
  spec.space = {{"layers", {40}}, {"x", {1, 2, 3}}};
  return HasReplayedParameter(spec);
}

TEST(RunPartTest, AParameterIsReplayedWhereItIsFilledIntoSuchFieldsAlone) {
  EXPECT_TRUE(HasReplayed("/cluster/server/nics/gbps", "${x}"));
  EXPECT_TRUE(HasReplayed("/cluster/fabric/spines", "${x}"));
  EXPECT_FALSE(HasReplayed("/command/1", "--batch=${x}"));
  EXPECT_FALSE(HasReplayed("/cluster/servers", "${x}"));
  EXPECT_FALSE(HasReplayed("/iterations/measure", 3));

  SearchSpec both;
  both.job = With("/cluster/server/nics/gbps", "${x}");
  both.job["command"][1] = "--nics=${x}";
  both.space = {{"x", {1, 2}}};
  EXPECT_FALSE(HasReplayedParameter(both));
}

}  // namespace
}  // namespace eidolon::controller::search
