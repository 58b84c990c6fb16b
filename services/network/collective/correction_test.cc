#include "services/network/collective/correction.h"

#include <array>

#include <gtest/gtest.h>

namespace eidolon::network::collective {
namespace {

CurveKey Ring(std::uint32_t nodes, std::uint32_t members) {
  return {.algorithm = Algorithm::kRing, .all_reduce = true, .nodes = nodes, .members = members};
}

class CorrectionTest : public testing::Test {
 protected:
  std::array<float, 2> two_{2, 3};
  std::array<float, 2> eight_{4, 5};
  std::array<float, 1> four_members_{9};
  std::array<Curve, 3> curves_{
      {{Ring(2, 4), 20, four_members_}, {Ring(2, 8), 20, two_}, {Ring(8, 8), 20, eight_}}};

  double At(const CurveKey& key, std::uint64_t bytes) { return Correction(curves_, key, bytes); }
};

TEST_F(CorrectionTest, InterpolatesInSizeAndInServers) {
  EXPECT_NEAR(At(Ring(2, 8), 1 << 20), 2, 1e-9);
  EXPECT_NEAR(At(Ring(2, 8), 1 << 21), 3, 1e-9);
  EXPECT_NEAR(At(Ring(4, 8), 1 << 20), 3, 1e-9);
  EXPECT_NEAR(At(Ring(8, 8), 1 << 20), 4, 1e-9);
}

TEST_F(CorrectionTest, KeepsTheLastRatioBeyondAndDecaysBelow) {
  EXPECT_NEAR(At(Ring(512, 8), 1 << 30), 5, 1e-9);
  EXPECT_NEAR(At(Ring(2, 8), 1 << 17), 1.5, 1e-9);
  EXPECT_NEAR(At(Ring(2, 8), 0), 1, 0.02);
}

TEST_F(CorrectionTest, TakesTheNearestNumberOfMembers) {
  EXPECT_NEAR(At(Ring(2, 4), 1 << 20), 9, 1e-9);
  EXPECT_NEAR(At(Ring(2, 1), 1 << 20), 9, 1e-9);
  EXPECT_NEAR(At(Ring(2, 7), 1 << 20), 2, 1e-9);
}

TEST_F(CorrectionTest, IsOneWhereNothingWasMeasured) {
  CurveKey tree = Ring(2, 8);
  tree.algorithm = Algorithm::kTree;
  CurveKey slingshot = Ring(2, 8);
  slingshot.transport = Transport::kSlingshot;

  EXPECT_EQ(At(tree, 1 << 20), 1);
  EXPECT_EQ(At(slingshot, 1 << 20), 1);
  EXPECT_EQ(At(Ring(1, 8), 1 << 20), 1);
}

TEST(CurvesTest, RatiosArePlausibleAndKeysAscend) {
  const Curve* before = nullptr;
  for (const Curve& curve : Curves()) {
    ASSERT_FALSE(curve.ratios.empty());
    if (before != nullptr) {
      EXPECT_LT(before->key, curve.key);
    }
    before = &curve;
    for (float ratio : curve.ratios) {
      EXPECT_GT(ratio, 0.2f);
      EXPECT_LT(ratio, 16.0f);  // Middle sizes on 256 Slingshot servers.
    }
  }
}

}  // namespace
}  // namespace eidolon::network::collective
