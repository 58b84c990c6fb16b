#include "shim/compute/gemm.h"

#include <gtest/gtest.h>

#include <vector>

#include "shim/compute/numbers_test.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

constexpr std::uint64_t kA = 0x6b0100000000;
constexpr std::uint64_t kB = kA + 4096;
constexpr std::uint64_t kC = kA + 8192;
constexpr std::uint64_t kBias = kA + 12288;

class ProductTest : public NumbersTest {
 protected:
  ProductTest() { value::ProcessPending().Forget(kA, 16384); }

  static ProductMatrix Matrix(std::uint64_t address, std::int64_t leading) {
    return {.address = address, .type = Element::kFloat, .leading = leading};
  }
  // C = A B of column-major matrices: (1 3; 2 4) times (5 7; 6 8).
  static Product Small() {
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

TEST_F(ProductTest, MultipliesWhatIsKnown) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7, 8});
  Record(Small());

  EXPECT_EQ(Get(kC, 4), (std::vector<float>{23, 34, 31, 46}));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kC, 16));
}

TEST_F(ProductTest, TransposesScalesAddsAndActivates) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7, 8});
  Put(kC, {1, 1, -100, 1});
  Put(kBias, {0.5F, 0.25F});
  Product product = Small();
  product.transpose_a = Transpose::kYes;
  product.transpose_b = Transpose::kYes;
  product.alpha.real = 2;
  product.beta.real = 1;
  product.bias = Matrix(kBias, 2);
  product.activation = Activation::kRelu;
  Record(product);

  // A'B' = (1 2; 3 4) (5 6; 7 8) = (19 22; 43 50).
  EXPECT_EQ(Get(kC, 4), (std::vector<float>{39.5F, 87.25F, 0, 101.25F}));
}

TEST_F(ProductTest, OneUnknownByteMakesTheResultUnknown) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 6, 7});
  Put(kC, {9, 9, 9, 9, 9});
  Record(Small());

  EXPECT_FALSE(value::ProcessPending().IsKnown(kC, 1));
  EXPECT_TRUE(value::ProcessPending().IsKnown(kC + 16, 4));
}

TEST_F(ProductTest, VectorsHaveStepsAndKeepWhatLiesBetween) {
  Put(kA, {1, 2, 3, 4});
  Put(kB, {5, 0, 6});
  Put(kC, {7, 8, 9});
  Product product = Small();
  product.n = 1;
  product.b = {.address = kB, .type = Element::kFloat, .leading = 2, .row_step = 2};
  product.d = {.address = kC, .type = Element::kFloat, .leading = 2, .row_step = 2};
  Record(product);

  EXPECT_EQ(Get(kC, 3), (std::vector<float>{23, 8, 34}));
}

TEST_F(ProductTest, RoundsInputsAsTensorCoresDo) {
  Put(kA, {1.0009765625F + 0.0004F});  // Between two numbers of ten bits.
  Put(kB, {1});
  Product product = Small();
  product.m = product.n = product.k = 1;
  product.rounds_to_tf32 = true;
  Record(product);

  EXPECT_EQ(Get(kC, 1), std::vector<float>{1.0009765625F});
}

TEST_F(ProductTest, KnowsWhatIsTooMuch) {
  Product product = Small();
  EXPECT_TRUE(IsSmall(product));
  product.m = product.n = product.k = 1024;
  EXPECT_FALSE(IsSmall(product));
}

}  // namespace
}  // namespace eidolon::shim::compute
