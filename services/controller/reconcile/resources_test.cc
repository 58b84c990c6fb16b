#include "services/controller/reconcile/resources.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "services/controller/reconcile/objects.h"

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

job::ResolvedJob TwoRanks(std::uint64_t memory_per_server_bytes = 0) {
  job::ResolvedJob resolved;
  resolved.servers = 1;
  resolved.ranks_per_server = 2;
  resolved.spec.memory_per_server_bytes = memory_per_server_bytes;
  return resolved;
}

TEST(ResourcesTest, AnInstallationMayLimitCpuAsQuotasAskForIt) {
  Settings settings;
  settings.cpu_limit_millis_per_rank = 4000;

  EXPECT_EQ(ServerResources(TwoRanks(), json::object(), settings)["limits"],
            json({{"cpu", "8000m"}, {"memory", std::to_string(64 * kGiB)}}));
}

TEST(ResourcesTest, NoLimitIsBelowItsRequest) {
  Settings settings;
  settings.cpu_millis_per_rank = 2000;
  settings.cpu_limit_millis_per_rank = 1000;
  settings.memory_bytes_per_rank = 8 * kGiB;
  settings.memory_limit_bytes_per_rank = 4 * kGiB;

  const json resources = ServerResources(TwoRanks(), json::object(), settings);

  EXPECT_EQ(resources["limits"], resources["requests"]);
}

TEST(ResourcesTest, AnInstallationMayLeaveJobsUnlimited) {
  Settings settings;
  settings.memory_limit_bytes_per_rank = 0;

  EXPECT_FALSE(ServerResources(TwoRanks(), json::object(), settings).contains("limits"));
  EXPECT_EQ(TmpfsBytes(TwoRanks(), json::object(), settings), 0u);
  EXPECT_EQ(TmpfsBytes(TwoRanks(6 * kGiB), json::object(), settings), 3 * kGiB);
}

TEST(ResourcesTest, TmpfsFollowsTheLimitOfAPodTemplateThatHasOne) {
  const auto bytes = [](const json& memory) {
    return TmpfsBytes(TwoRanks(), {{"resources", {{"limits", {{"memory", memory}}}}}}, Settings());
  };

  EXPECT_EQ(bytes("4Gi"), 2 * kGiB);
  EXPECT_EQ(bytes(4096), 2048u);
  EXPECT_EQ(bytes("4Pi"), 32 * kGiB) << "what is not read leaves the limit of the installation";
  EXPECT_EQ(TmpfsBytes(TwoRanks(), {{"resources", {{"requests", {{"cpu", "1"}}}}}}, Settings()),
            32 * kGiB);
}

TEST(ResourcesTest, NetworkServicesRunWhereAndWithWhatTheInstallationSays) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "h"}, {"namespace", "n"}, {"uid", "u"}}}};
  Settings settings;
  settings.network_resources = {{"limits", {{"cpu", "1"}, {"memory", "1Gi"}}}};
  settings.network_placement = {{"nodeSelector", {{"pool", "services"}}},
                                {"tolerations", {{{"key", "services"}, {"operator", "Exists"}}}},
                                {"priorityClassName", "services"}};

  const json pod = NetworkObjects(cluster, settings)[1]["spec"]["template"]["spec"];

  EXPECT_EQ(pod["containers"][0]["resources"], settings.network_resources);
  EXPECT_EQ(pod["nodeSelector"]["pool"], "services");
  EXPECT_EQ(pod["tolerations"][0]["key"], "services");
  EXPECT_EQ(pod["priorityClassName"], "services");
}

TEST(ResourcesTest, PodsOfAnInstallationWithoutValuesPassAQuotaOnLimits) {
  const json cluster = {{"apiVersion", "eidolon.dev/v1alpha1"},
                        {"kind", "SimulatedCluster"},
                        {"metadata", {{"name", "h"}, {"namespace", "n"}, {"uid", "u"}}}};
  const Settings settings;

  const json pod = NetworkObjects(cluster, settings)[1]["spec"]["template"]["spec"];

  for (const char* what : {"cpu", "memory"}) {
    EXPECT_TRUE(pod["containers"][0]["resources"]["limits"].contains(what)) << what;
    EXPECT_TRUE(settings.injection_resources["limits"].contains(what)) << what;
  }
}

}  // namespace
}  // namespace eidolon::controller::reconcile
