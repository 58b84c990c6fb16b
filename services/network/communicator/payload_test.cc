#include "services/network/communicator/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::network::communicator {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kBytes = 1;  // uint8

std::vector<Payload> Results(Kind kind, std::int32_t root, std::vector<Payload> inputs) {
  const Operation operation{.kind = kind, .data_type = kBytes, .reduction = 0, .root = root};
  return ResultsOf(operation, inputs);
}

const Payload kUnknown = std::nullopt;

TEST(PayloadTest, EachKindDeliversItsBytes) {
  using S = std::string;
  EXPECT_THAT(Results(Kind::kAllReduce, -1, {"\x01\x02", "\x03\x04"}),
              ElementsAre(S("\x04\x06"), S("\x04\x06")));
  EXPECT_THAT(Results(Kind::kAllGather, -1, {"ab", "cd"}), ElementsAre(S("abcd"), S("abcd")));
  EXPECT_THAT(Results(Kind::kReduceScatter, -1, {"\x01\x02", "\x03\x04"}),
              ElementsAre(S("\x04"), S("\x06")));
  EXPECT_THAT(Results(Kind::kBroadcast, 1, {kUnknown, "xy"}), ElementsAre(S("xy"), S("xy")));
  EXPECT_THAT(Results(Kind::kReduce, 1, {"\x01", "\x03"}), ElementsAre(S(""), S("\x04")));
  EXPECT_THAT(Results(Kind::kAllToAll, -1, {"abcd", "efgh"}), ElementsAre(S("abef"), S("cdgh")));
  EXPECT_THAT(Results(Kind::kGather, 0, {"ab", "cd"}), ElementsAre(S("abcd"), S("")));
  EXPECT_THAT(Results(Kind::kScatter, 0, {"abcd", kUnknown}), ElementsAre(S("ab"), S("cd")));
}

TEST(PayloadTest, AnUnknownInputMakesTheResultUnknown) {
  EXPECT_THAT(Results(Kind::kAllReduce, -1, {"a", kUnknown}), ElementsAre(kUnknown, kUnknown));
  EXPECT_THAT(Results(Kind::kBroadcast, 0, {kUnknown, "a"}), ElementsAre(kUnknown, kUnknown));
  EXPECT_THAT(Results(Kind::kGather, 1, {"a", kUnknown}), ElementsAre(Payload(""), kUnknown));
}

TEST(PayloadTest, BuffersThatDoNotFitAreUnknown) {
  EXPECT_THAT(Results(Kind::kAllGather, -1, {"ab", "c"}), ElementsAre(kUnknown, kUnknown));
  EXPECT_THAT(Results(Kind::kAllToAll, -1, {"abc", "def"}), ElementsAre(kUnknown, kUnknown));
  EXPECT_THAT(Results(Kind::kScatter, 0, {"abc", "def"}), ElementsAre(kUnknown, kUnknown));
}

TEST(PayloadTest, SmallMeansSmallPerRank) {
  const Operation gather{.kind = Kind::kAllGather, .bytes = 4 * kPayloadBytesMax};
  const Operation reduce{.kind = Kind::kAllReduce, .bytes = 4 * kPayloadBytesMax};

  EXPECT_TRUE(CarriesValues(gather, 4));
  EXPECT_FALSE(CarriesValues(gather, 2));
  EXPECT_FALSE(CarriesValues(reduce, 4));
}

}  // namespace
}  // namespace eidolon::network::communicator
