#include "services/agent/session/prepared_call.h"

#include <gtest/gtest.h>

#include <string_view>

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
namespace v1 = network::v1;
using wire::CommunicationKind;

wire::CommunicationOp Op(CommunicationKind kind, std::uint64_t bytes,
                         std::uint32_t payload_bytes = 0, std::int32_t peer = -1) {
  return {.kind = kind,
          .data_type = 7,
          .reduction = 0,
          .peer = peer,
          .count = bytes / 4,
          .bytes = bytes,
          .sequence = 0,
          .payload_bytes = payload_bytes,
          .in_place = 0};
}

TEST(PreparedCallTest, EachCollectiveIsACallAndAllTransfersAreOneThatComesLast) {
  const std::vector<wire::CommunicationOp> ops = {
      Op(CommunicationKind::kSend, 8, 0, 1), Op(CommunicationKind::kAllReduce, 16),
      Op(CommunicationKind::kReceive, 8, 0, 1), Op(CommunicationKind::kBroadcast, 32, 0, 2)};

  const auto calls = CallsOf(ops, {});

  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(CountCalls(ops), 3u);
  EXPECT_EQ(calls[0].operation.kind(), v1::COLLECTIVE_KIND_ALL_REDUCE);
  EXPECT_EQ(calls[0].operation.size_bytes(), 16u);
  EXPECT_EQ(calls[1].operation.kind(), v1::COLLECTIVE_KIND_BROADCAST);
  EXPECT_EQ(calls[1].operation.root(), 2);
  EXPECT_EQ(calls[2].operation.kind(), v1::COLLECTIVE_KIND_POINT_TO_POINT);
  EXPECT_TRUE(calls[2].point_to_point);
  ASSERT_EQ(calls[2].operation.transfers_size(), 2);
  EXPECT_TRUE(calls[2].operation.transfers(0).send());
  EXPECT_FALSE(calls[2].operation.transfers(1).send());
}

TEST(PreparedCallTest, EachCallHasItsOwnBytes) {
  const std::vector<wire::CommunicationOp> ops = {Op(CommunicationKind::kAllReduce, 2, 2),
                                                  Op(CommunicationKind::kAllReduce, 3, 3)};
  const std::string_view payload = "abcde";

  const auto calls = CallsOf(ops, std::as_bytes(std::span(payload.data(), payload.size())));

  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].payload, "ab");
  EXPECT_EQ(calls[1].payload, "cde");
  EXPECT_TRUE(calls[1].has_payload);
}

TEST(PreparedCallTest, ValuesOfAGroupAreKnownWhenAllItsSendsAre) {
  const std::string_view payload = "ab";
  const std::vector<wire::CommunicationOp> known = {Op(CommunicationKind::kSend, 2, 2, 1),
                                                    Op(CommunicationKind::kReceive, 4, 0, 1)};
  const std::vector<wire::CommunicationOp> unknown = {Op(CommunicationKind::kSend, 2, 2, 1),
                                                      Op(CommunicationKind::kSend, 8, 0, 2)};
  const auto bytes = std::as_bytes(std::span(payload.data(), payload.size()));

  EXPECT_TRUE(CallsOf(known, bytes)[0].has_payload);
  EXPECT_FALSE(CallsOf(unknown, bytes)[0].has_payload);
}

TEST(PreparedCallTest, NothingBecomesNoCall) {
  EXPECT_TRUE(CallsOf({}, {}).empty());
  EXPECT_EQ(CountCalls({}), 0u);
}

}  // namespace
}  // namespace eidolon::agent::session
