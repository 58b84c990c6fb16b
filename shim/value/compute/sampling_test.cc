#include "shim/value/compute/sampling.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "shim/value/compute/numbers_test.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kInput = 0x6b0300000000;
constexpr std::uint64_t kGrid = kInput + 65536;
constexpr std::uint64_t kOutput = kGrid + 65536;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SamplingTest : public NumbersTest {
 protected:
  SamplingTest() { value::ProcessPending().Forget(kInput, 3 * 65536); }

  // Two channels of 2 rows and 3 columns, at `count` points.
  static Sampling At(std::int64_t count) {
    return {.type = Element::kFloat,
            .input = {kInput, {1, 2, 2, 3}, {12, 6, 3, 1}},
            .output = {kOutput, {1, 2, 1, count}, {2 * count, count, count, 1}},
            .grid = kGrid};
  }
};

TEST_F(SamplingTest, PointsBetweenPixelsAreWeighted) {
  Put(kInput, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  Put(kGrid, {-1, -1, 1, 1, 0, 0, 0.5F, -1});
  Record(At(4));

  EXPECT_EQ(Get(kOutput, 8), (std::vector<float>{0, 5, 2.5F, 1.5F, 10, 15, 12.5F, 11.5F}));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kOutput, 32));
}

TEST_F(SamplingTest, OutsideThePictureThereAreZeros) {
  Put(kInput, {2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4});
  // Half a pixel and more than one pixel to the left, and nowhere near.
  Put(kGrid, {-1.5F, -1, -2.5F, -1, kInfinity, 0, 0, -3e38F});
  Record(At(4));

  EXPECT_EQ(Get(kOutput, 8), (std::vector<float>{1, 0, 0, 0, 2, 0, 0, 0}));
}

TEST_F(SamplingTest, ChannelsMayRunFastestOnBothSides) {
  Put(kInput, {0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15});
  Put(kGrid, {0, 0, 1, 1});
  Sampling sampling = At(2);
  sampling.input.strides = {12, 1, 6, 2};
  sampling.output.strides = {4, 1, 4, 2};
  Record(sampling);

  EXPECT_EQ(Get(kOutput, 4), (std::vector<float>{2.5F, 12.5F, 5, 15}));
}

TEST_F(SamplingTest, OneUnknownPixelOrAPointThatIsNoneMakesTheResultUnknown) {
  Put(kInput, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14});
  Put(kGrid, {0, 0});
  Put(kOutput, {1, 1, 7});
  Record(At(1));
  EXPECT_FALSE(value::ProcessPending().IsKnown(kOutput, 4));
  EXPECT_FALSE(value::ProcessPending().IsKnown(kOutput + 4, 4));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kOutput + 8, 4));

  Put(kInput, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15});
  Put(kGrid, {0, kNan});
  Put(kOutput, {1, 1});
  Record(At(1));
  EXPECT_FALSE(value::ProcessPending().IsKnown(kOutput, 4));
}

TEST_F(SamplingTest, KnowsWhatIsTooMuch) {
  EXPECT_TRUE(IsSmall(At(1000)));
  EXPECT_FALSE(IsSmall(At(1 << 20)));
  Sampling far = At(1);
  far.input.strides[0] = far.input.strides[1] = std::int64_t{1} << 31;
  EXPECT_FALSE(IsSmall(far));
  Sampling complex = At(1);
  complex.type = Element::kComplexFloat;
  EXPECT_FALSE(IsSmall(complex));
}

}  // namespace
}  // namespace eidolon::shim::compute
