#include "services/controller/kube_host/pod_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace eidolon::controller::kube_host {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TEST(PodFlagsTest, ReadsWhatTheChartGives) {
  reconcile::Settings settings;

  const auto read = ReadPodFlags(
      {.memory_per_rank = "1Gi",
       .memory_limit_per_rank = "8Gi",
       .network_pod = R"({"affinity":{},"nodeSelector":{"pool":"a"},"priorityClassName":"high",)"
                      R"("resources":{"limits":{"memory":"1Gi"}},"tolerations":[{"key":"a"}]})",
       .injection_resources = R"({"limits":{"cpu":"2"}})"},
      &settings);

  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(settings.memory_bytes_per_rank, std::uint64_t{1} << 30);
  EXPECT_EQ(settings.memory_limit_bytes_per_rank, std::uint64_t{8} << 30);
  EXPECT_EQ(settings.injection_resources, json({{"limits", {{"cpu", "2"}}}}));
  EXPECT_EQ(settings.network_resources, json({{"limits", {{"memory", "1Gi"}}}}));
  EXPECT_EQ(settings.network_placement, json({{"nodeSelector", {{"pool", "a"}}},
                                              {"priorityClassName", "high"},
                                              {"tolerations", {{{"key", "a"}}}}}));
}

TEST(PodFlagsTest, WhatAUserOfTheChartHasEmptiedIsNoLimit) {
  reconcile::Settings settings;

  const auto read = ReadPodFlags({.memory_limit_per_rank = "0",
                                  .network_pod = R"({"priorityClassName":"","resources":null})",
                                  .injection_resources = "null"},
                                 &settings);

  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(settings.memory_limit_bytes_per_rank, 0u);
  EXPECT_EQ(settings.injection_resources, json::object());
  EXPECT_EQ(settings.network_resources, json::object());
  EXPECT_EQ(settings.network_placement, json::object());
}

TEST(PodFlagsTest, AFlagThatCannotBeReadIsNamed) {
  const auto error_of = [](const PodFlags& flags) {
    reconcile::Settings settings;
    const auto read = ReadPodFlags(flags, &settings);
    return read ? std::string("none") : read.error().message;
  };

  EXPECT_THAT(error_of({.memory_per_rank = "much"}), HasSubstr("--memory-per-rank must be"));
  EXPECT_THAT(error_of({.memory_limit_per_rank = "-1"}), HasSubstr("--memory-limit-per-rank"));
  EXPECT_THAT(error_of({.network_pod = "{"}), HasSubstr("--network-pod must be a JSON object"));
  EXPECT_THAT(error_of({.network_pod = R"({"hostNetwork":true})"}), HasSubstr("nodeSelector"));
  EXPECT_THAT(error_of({.injection_resources = "[]"}), HasSubstr("--injection-resources"));
}

}  // namespace
}  // namespace eidolon::controller::kube_host
