#include "shim/value/compute/gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "shim/value/compute/numbers_test.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kA = 0x6b0100000000;
constexpr std::uint64_t kB = kA + 4096;
constexpr std::uint64_t kC = kA + 8192;
constexpr std::uint64_t kBias = kA + 12288;

class GemmTest : public NumbersTest {
 protected:
  GemmTest() { value::ProcessPending().Forget(kA, 16384); }

  static GemmMatrix Matrix(std::uint64_t address, std::int64_t leading) {
    return {.address = address, .type = Element::kFloat, .leading = leading};
  }
  // C = A B of column-major matrices: (1 3; 2 4) times (5 7; 6 8).
  static Gemm Small() {
    return {.m = 2,
            .n = 2,
            .k = 2,
            .a = Matrix(kA, 2),
            .b = Matrix(kB, 2),
            .c = Matrix(kC, 2),
            .d = Matrix(kC, 2),
            .alpha = {.real = 1}};
  }
};

TEST_F(GemmTest, MultipliesWhatIsKnown) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7, 8});
  Record(Small());

  EXPECT_EQ(Get(kC, 4), (std::vector<float>{23, 34, 31, 46}));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kC, 16));
}

TEST_F(GemmTest, TransposesScalesAddsAndActivates) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7, 8});
  Put(kC, {1, 1, -100, 1});
  Put(kBias, {0.5F, 0.25F});
  Gemm gemm = Small();
  gemm.transpose_a = Transpose::kYes;
  gemm.transpose_b = Transpose::kYes;
  gemm.alpha.real = 2;
  gemm.beta.real = 1;
  gemm.bias = Matrix(kBias, 2);
  gemm.activation = Activation::kRelu;
  Record(gemm);

  // A'B' = (1 2; 3 4) (5 6; 7 8) = (19 22; 43 50).
  EXPECT_EQ(Get(kC, 4), (std::vector<float>{39.5F, 87.25F, 0, 101.25F}));
}

TEST_F(GemmTest, OneUnknownByteMakesTheResultUnknown) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7});
  Put(kC, {9, 9, 9, 9, 9});
  Record(Small());

  EXPECT_FALSE(value::ProcessPending().IsKnown(kC, 1));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kC + 16, 4));
}

TEST_F(GemmTest, VectorsHaveStepsAndKeepWhatLiesBetween) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 0, 6});
  Put(kC, {7, 8, 9});
  Gemm gemm = Small();
  gemm.n = 1;
  gemm.b = {.address = kB, .type = Element::kFloat, .leading = 2, .row_step = 2};
  gemm.d = {.address = kC, .type = Element::kFloat, .leading = 2, .row_step = 2};
  Record(gemm);

  EXPECT_EQ(Get(kC, 3), (std::vector<float>{23, 8, 34}));
}

TEST_F(GemmTest, RoundsInputsAsTensorCoresDo) {
  Put(kA, {1.0009765625F + 0.0004F});  // Between two numbers of ten bits.
  Put(kB, {1});
  Gemm gemm = Small();
  gemm.m = gemm.n = gemm.k = 1;
  gemm.rounds_to_tf32 = true;
  Record(gemm);

  EXPECT_EQ(Get(kC, 1), std::vector<float>{1.0009765625F});
}

TEST_F(GemmTest, KnowsWhatIsTooMuch) {
  Gemm gemm = Small();
  EXPECT_TRUE(IsSmall(gemm));
  gemm.m = gemm.n = gemm.k = 1024;
  EXPECT_FALSE(IsSmall(gemm));
}

}  // namespace
}  // namespace eidolon::shim::compute
