#include "services/network/translate.h"

#include <limits>

#include <gtest/gtest.h>

namespace eidolon::network {
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

TEST(TranslateTest, WritesEveryNotice) {
  using namespace communicator;  // NOLINT: the names under test.
  const v1::SessionResponse joined =
      ToProto(JoinedNotice{.request = 4, .communicator = 9, .members = {{.global_rank = 3}}});
  EXPECT_EQ(joined.joined().request(), 4u);
  EXPECT_EQ(joined.joined().members(0).global_rank(), 3);
  const v1::SessionResponse committed =
      ToProto(CommittedNotice{.finish = {77}, .algorithm = collective::Algorithm::kNvlsTree});
  EXPECT_EQ(committed.committed().finish_picoseconds(), 77u);
  EXPECT_EQ(committed.committed().algorithm(), "nvls_tree");
  EXPECT_EQ(committed.committed().source(), eidolon::common::v1::ESTIMATE_SOURCE_MODELLED);
  EXPECT_TRUE(ToProto(ValuesNotice{.known = true}).values().known());
  EXPECT_TRUE(ToProto(SafeThroughNotice{.released = true}).safe_through().released());
  EXPECT_EQ(ToProto(DeadlockNotice{.report = "r"}).deadlock().report(), "r");
  EXPECT_EQ(ToProto(FailedNotice{.request = 5}).failed().request(), 5u);
  EXPECT_TRUE(ToProto(FailedNotice{.server_gone = true}).failed().server_gone());
}

}  // namespace
}  // namespace eidolon::network
