#include "services/network/serving/translate.h"

#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "services/network/topology/topology.h"

namespace eidolon::network::serving {
namespace {

TEST(TranslateTest, CarriesACluster) {
  eidolon::common::v1::Cluster message;
  message.set_name("c");
  message.set_servers(2);
  message.set_gpus_per_server(4);
  message.set_gpu("H100-SXM5-80GB");
  message.mutable_nvlink()->set_generation(4);
  message.mutable_nics()->set_count(4);
  message.mutable_nics()->set_gigabits_per_second(400);
  message.mutable_fabric()->set_preset("leaf-spine");

  const topology::Cluster cluster = FromProto(message);

  EXPECT_EQ(cluster.servers, 2u);
  EXPECT_EQ(cluster.nvlink_generation, 4u);
  EXPECT_EQ(cluster.fabric, "leaf-spine");
  EXPECT_EQ(cluster.oversubscription, 1);  // Not said.
}

TEST(TranslateTest, CarriesThePlanOfAFabric) {
  v1::RegisterJobRequest request;
  request.mutable_cluster()->mutable_fabric()->set_preset("graph");
  v1::FabricPlan& plan = *request.mutable_plan();
  plan.set_servers_per_domain(18);
  plan.set_host_bridges(2);
  plan.set_routers_per_group(16);
  plan.add_dimensions(4);
  plan.add_dimensions(2);
  plan.set_link_gigabits_per_second(200);
  plan.add_switches("left");
  plan.add_switches("right");
  v1::Cable& cable = *plan.add_cables();
  cable.set_to(1);
  cable.set_gigabits_per_second(400);
  plan.add_plugs()->set_rail(3);
  plan.set_slingshot(true);
  request.set_gpu_compute_major(8);
  request.set_spines(5);

  const topology::Cluster cluster = FromProto(request);

  EXPECT_EQ(cluster.servers_per_domain, 18u);
  EXPECT_EQ(cluster.host_bridges, 2u);
  EXPECT_EQ(cluster.plan.routers_per_group, 16u);
  EXPECT_EQ(cluster.plan.servers_per_router, topology::FabricSpec{}.servers_per_router);
  EXPECT_EQ(cluster.plan.dimensions, (std::vector<std::uint32_t>{4, 2}));
  EXPECT_EQ(cluster.plan.link_gigabits_per_second, 200);
  EXPECT_EQ(cluster.plan.switches, (std::vector<std::string>{"left", "right"}));
  ASSERT_EQ(cluster.plan.cables.size(), 1u);
  EXPECT_EQ(cluster.plan.cables[0],
            (topology::FabricSpec::Cable{.a = 0, .b = 1, .gigabits_per_second = 400}));
  ASSERT_EQ(cluster.plan.plugs.size(), 1u);
  EXPECT_EQ(cluster.plan.plugs[0], (topology::FabricSpec::Plug{.server = 0, .rail = 3, .at = 0}));
  EXPECT_TRUE(cluster.slingshot);
  EXPECT_EQ(cluster.gpu_compute_major, 8u);
  EXPECT_FALSE(cluster.in_network_reduction);
  EXPECT_EQ(cluster.plan.routing, topology::Routing::kEcmp);
}

TEST(TranslateTest, AdaptiveRoutingKnowsHowManyLinksItMerges) {
  v1::RegisterJobRequest request;
  request.mutable_plan()->set_merged_spines(6);

  const topology::Cluster cluster = FromProto(request);

  EXPECT_EQ(cluster.plan.routing, topology::Routing::kAdaptive);
  EXPECT_EQ(cluster.plan.spines, 6u);
}

TEST(TranslateTest, TimesBeyondTheRangeMeanNever) {
  v1::Horizon message;
  message.set_lower_bound_picoseconds(std::numeric_limits<std::uint64_t>::max());

  const horizon::Promise promise = FromProto(message);

  EXPECT_EQ(promise.lower_bound, base::SimTime::Max());
  EXPECT_FALSE(promise.wanted.has_value());
}

TEST(TranslateTest, AbsentPayloadDiffersFromAnEmptyOne) {
  v1::Issue message;
  message.mutable_operation()->set_kind(v1::COLLECTIVE_KIND_BROADCAST);
  EXPECT_FALSE(FromProto(message)->payload.has_value());
  message.set_has_payload(true);
  EXPECT_EQ(FromProto(message)->payload, "");
}

TEST(TranslateTest, ReadsWhereACallIsMadeAndWhatWasLaunched) {
  v1::Issue message;
  message.mutable_operation()->set_kind(v1::COLLECTIVE_KIND_ALL_REDUCE);
  message.set_call_site("train.py:40");
  message.set_launches(3);
  message.set_launched(99);

  const auto call = FromProto(message);

  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->operation.site, "train.py:40");
  EXPECT_EQ(call->work, (communicator::LaunchedWork{.launches = 3, .digest = 99}));
}

v1::SessionResponse Written(const communicator::Notice& notice,
                            Spending spending = Spending::kLeftOut) {
  v1::SessionResponse response;
  ToProto(notice, spending, response);
  return response;
}

TEST(TranslateTest, WritesEveryNotice) {
  using namespace communicator;  // NOLINT: the names under test.
  const v1::SessionResponse joined =
      Written(JoinedNotice{.request = 4, .communicator = 9, .parent_ranks = {3}});
  EXPECT_EQ(joined.joined().request(), 4u);
  EXPECT_EQ(joined.joined().parent_ranks(0), 3);
  const v1::SessionResponse committed =
      Written(CommittedNotice{.finish = {77}, .algorithm = collective::Algorithm::kNvlsTree});
  EXPECT_EQ(committed.committed().finish_picoseconds(), 77u);
  EXPECT_EQ(committed.committed().algorithm(), "nvls_tree");
  EXPECT_EQ(committed.committed().source(), eidolon::common::v1::ESTIMATE_SOURCE_MODELLED);
  const CommittedNotice with_links{
      .spent = std::make_shared<const flow::Spent>(
          flow::Spent{.latency = {5},
                      .links = {{.link = 6,
                                 .tier = static_cast<std::uint8_t>(topology::LinkTier::kNic),
                                 .time = {9}}}})};
  EXPECT_EQ(Written(with_links).committed().tiers_size(), 0);
  const v1::SessionResponse spent = Written(with_links, Spending::kTold);
  ASSERT_EQ(spent.committed().tiers_size(), 2);
  EXPECT_EQ(spent.committed().tiers(0), v1::LINK_TIER_LATENCY);
  EXPECT_EQ(spent.committed().tiers(1), v1::LINK_TIER_NIC);
  EXPECT_EQ(spent.committed().tier_picoseconds(0), 5u);
  EXPECT_EQ(spent.committed().tier_picoseconds(1), 9u);
  EXPECT_EQ(spent.committed().tier_links(0), 0u);
  EXPECT_EQ(spent.committed().tier_links(1), 7u);
  EXPECT_TRUE(Written(ValuesNotice{.known = true}).values().known());
  EXPECT_EQ(Written(ValuesNotice{.guessed = 1, .site = "a.py:1"}).values().call_site(), "a.py:1");
  const v1::SessionResponse differs = Written(WorkDiffersNotice{.rank = 3, .where = "before"});
  EXPECT_EQ(differs.work_differs().rank(), 3u);
  EXPECT_EQ(differs.work_differs().where(), "before");
  EXPECT_TRUE(Written(SafeThroughNotice{.released = true}).safe_through().released());
  EXPECT_EQ(Written(DeadlockNotice{.report = "r"}).deadlock().report(), "r");
  EXPECT_EQ(Written(FailedNotice{.request = 5}).failed().request(), 5u);
  EXPECT_TRUE(Written(FailedNotice{.server_gone = true}).failed().server_gone());
}

}  // namespace
}  // namespace eidolon::network::serving
