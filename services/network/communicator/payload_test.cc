#include "services/network/communicator/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace eidolon::network::communicator {
namespace {

using testing::ElementsAre;

constexpr std::uint32_t kBytes = 1;  // uint8

std::vector<Payload> Results(Kind kind, std::int32_t root, std::vector<Payload> inputs) {
  const Operation operation{.kind = kind, .data_type = kBytes, .reduction = 0, .root = root};
  std::vector<std::int32_t> all(inputs.size());
  std::iota(all.begin(), all.end(), 0);
  return ResultsOf(operation, inputs, all);
}

const Payload kUnknown = std::nullopt;

TEST(PayloadTest, MakesTheResultsOfThoseThatAskAlone) {
  const std::vector<Payload> inputs = {"abc", "def", "ghi"};
  const auto results = [&](Kind kind, std::int32_t root) {
    return ResultsOf({.kind = kind, .data_type = kBytes, .root = root}, inputs,
                     std::vector<std::int32_t>{0, 2});
  };
  using S = std::string;
  EXPECT_THAT(results(Kind::kAllGather, -1), ElementsAre(S("abcdefghi"), S("abcdefghi")));
  EXPECT_THAT(results(Kind::kAllToAll, -1), ElementsAre(S("adg"), S("cfi")));
  EXPECT_THAT(results(Kind::kScatter, 1), ElementsAre(S("d"), S("f")));
  EXPECT_THAT(results(Kind::kGather, 2), ElementsAre(S(), S("abcdefghi")));
  EXPECT_THAT(results(Kind::kBroadcast, 1), ElementsAre(S("def"), S("def")));
}

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
  constexpr std::uint32_t kFloat32 = 7;
  constexpr std::uint64_t bytes = 4 * (64 << 10);
  const Operation gather{.kind = Kind::kAllGather, .data_type = kFloat32, .bytes = bytes};
  const Operation reduce{.kind = Kind::kAllReduce, .data_type = kFloat32, .bytes = bytes};

  EXPECT_TRUE(CarriesValues(gather, 4));
  EXPECT_FALSE(CarriesValues(gather, 2));
  EXPECT_FALSE(CarriesValues(reduce, 4));
}

TEST(PayloadTest, BytesMayBeALargeObject) {
  constexpr std::uint32_t kUint8 = 1;
  const Operation object{.kind = Kind::kBroadcast, .data_type = kUint8, .bytes = 3 << 20};
  const Operation more{.kind = Kind::kBroadcast, .data_type = kUint8, .bytes = 5 << 20};
  const Operation numbers{.kind = Kind::kBroadcast, .data_type = 7, .bytes = 3 << 20};

  EXPECT_TRUE(CarriesValues(object, 4));
  EXPECT_FALSE(CarriesValues(more, 4));
  const Operation reduced{.kind = Kind::kAllReduce, .data_type = 7, .bytes = 3 << 20};
  EXPECT_TRUE(CarriesValues(numbers, 4)) << "members wait for what the root may give";
  EXPECT_FALSE(CarriesValues(reduced, 4)) << "unless members give something";
}

}  // namespace
}  // namespace eidolon::network::communicator
