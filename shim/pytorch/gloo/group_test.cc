#include "shim/pytorch/gloo/group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace eidolon::shim::gloo {
namespace {

using folding::Fold;
using Runs = std::vector<folding::RankRun>;

// 0, 1, 14 and 15 of 16 are live, two of each class.
Fold TwoClasses() {
  return Fold::Make({.ranks = 16, .dimensions = {{.stride = 1, .size = 2}}}).value();
}

TEST(GloosGroupTest, KnowsItsMirroredRanksAndTheirPlaces) {
  const Fold fold = TwoClasses();
  const Group row(fold, Runs{{0, 2, 8}});

  EXPECT_TRUE(row.has_mirrored_ranks());
  EXPECT_EQ(row.twins().live(), (std::vector<std::int32_t>{0, 7}));
  EXPECT_EQ(row.GlobalOf(5), 10u);
  EXPECT_FALSE(Group(fold, Runs{{0, 14, 2}, {15, 1, 1}}).has_mirrored_ranks());
}

TEST(GloosGroupTest, EndsTheJobWhenAMembersTwinIsNotKnown) {
  const Fold fold = TwoClasses();

  EXPECT_DEATH(Group(fold, Runs{{0, 1, 1}, {3, 1, 1}}).twins(),
               "eidolon: folding: .*rank 3 is mirrored, and no live rank of its class");
  EXPECT_DEATH(
      Group(fold, base::Fail(base::ErrorCode::kUnsupported, "nobody says who they are")).twins(),
      "eidolon: folding: nobody says who they are");
}

TEST(GloosGroupTest, IsFoundByItsObjectsUntilAnotherIsThere) {
  const Fold fold = TwoClasses();
  int object = 0;
  EXPECT_EQ(FindGroup(&object), nullptr);

  KeepGroup(&object, std::make_shared<const Group>(fold, Runs{{0, 1, 16}}));
  EXPECT_NE(FindGroup(&object), nullptr);
  KeepGroup(&object, nullptr);
  EXPECT_EQ(FindGroup(&object), nullptr);
}

}  // namespace
}  // namespace eidolon::shim::gloo
