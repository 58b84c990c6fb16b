#include "services/contract/folding/twins.h"

#include <gtest/gtest.h>

#include <cstring>

namespace eidolon::folding {
namespace {

std::string Bytes(std::initializer_list<std::int32_t> values) {
  std::string bytes;
  for (const std::int32_t value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

TEST(TwinsTest, MembersOfAGroupMirrorTheNextLiveMemberOfTheirClassBelow) {
  const auto fold = Fold::Make({.ranks = 16, .dimensions = {{.stride = 1, .size = 2}}});
  ASSERT_TRUE(fold.has_value());
  ASSERT_EQ(fold->live(), (std::vector<std::uint32_t>{0, 1, 14, 15}));

  const auto twins = Twins::Of(*fold, std::vector<std::uint32_t>{0, 4, 8, 14});

  ASSERT_TRUE(twins.has_value()) << twins.error().message;
  EXPECT_EQ(twins->count(), 2u);
  EXPECT_EQ(twins->live(), (std::vector<std::int32_t>{0, 3}));
  EXPECT_TRUE(twins->IsMirrored(2));
  EXPECT_EQ(twins->at(2).live, 0);
  EXPECT_EQ(twins->at(2).other, 3);
}

TEST(TwinsTest, IntegersGoOnInWholeStepsAlone) {
  const std::string first = Bytes({10, 7}), last = Bytes({40, 7});

  EXPECT_EQ(GoOnInSteps(4, {0, first}, {3, last}, 2), Bytes({30, 7}));
  EXPECT_EQ(GoOnInSteps(4, {0, first}, {4, last}, 2), std::nullopt);
  EXPECT_EQ(GoOnInSteps(4, {0, first}, {3, Bytes({40})}, 2), std::nullopt);
}

TEST(TwinsTest, IntegersTooFarApartDoNotGoOn) {
  constexpr std::int64_t kFar = 6'000'000'000'000'000'000;

  EXPECT_EQ(OnLine(-kFar, 0, 0, 4, 1), -kFar / 4 * 3);
  EXPECT_EQ(OnLine(-kFar, kFar, 0, 4, 1), std::nullopt);
  EXPECT_EQ(OnLine(0, kFar, 0, 1, 2), std::nullopt);
}

}  // namespace
}  // namespace eidolon::folding
