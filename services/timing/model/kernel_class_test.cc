#include "services/timing/model/kernel_class.h"

#include <gtest/gtest.h>

#include <array>

namespace eidolon::timing::model {
namespace {

using Phase = KernelClass::Phase;

const KernelRoof kRoof = {3350e9, 794.5e12};

TEST(KernelClassTest, ReadsAndWritesTheWordsOfATable) {
  const std::string name = "decode s-1:fa3 bf16 fp8 128 1024";
  const auto kernel = ParseKernelClass(name);

  ASSERT_TRUE(kernel.has_value());
  EXPECT_EQ(kernel->phase, Phase::kDecode);
  EXPECT_EQ(kernel->kernel, "s-1:fa3");
  EXPECT_EQ(kernel->cache_type, "fp8");
  EXPECT_EQ(kernel->head_size, 128);
  EXPECT_EQ(kernel->window, 1024);
  EXPECT_EQ(kernel->columns(), 4u);
  EXPECT_EQ(kernel->Name(), name);

  const std::string experts = "experts s-1:cutlass nvfp4 power_law_1.2";
  ASSERT_TRUE(ParseKernelClass(experts).has_value());
  EXPECT_EQ(ParseKernelClass(experts)->columns(), 7u);
  EXPECT_EQ(ParseKernelClass(experts)->Name(), experts);
}

TEST(KernelClassTest, ANarrowGemmMovesFewerBytesAndReadsItsInputWide) {
  const KernelClass kernel = *ParseKernelClass("gemm s-1:k nvfp4");
  EXPECT_EQ(kernel.columns(), 3u);
  EXPECT_EQ(kernel.family(), "gemm");
  EXPECT_EQ(kernel.Name(), "gemm s-1:k nvfp4");
  const double one = RoofSeconds(kRoof, kernel, std::array{1., 16384., 16384.});
  EXPECT_NEAR(one - 3e-6, 16384. * 16384 / 2 / (0.85 * kRoof.bandwidth), 0.01 * one);
}

TEST(KernelClassTest, RefusesOtherWords) {
  EXPECT_FALSE(ParseKernelClass(""));
  EXPECT_FALSE(ParseKernelClass("prefill k bf16 bf16 128"));
  EXPECT_FALSE(ParseKernelClass("prefill k bf16 bf16 0 0"));
  EXPECT_FALSE(ParseKernelClass("prefill k bf16 bf16 128 -1"));
  EXPECT_FALSE(ParseKernelClass("backward k bf16 bf16 128 0"));
}

TEST(KernelClassTest, LongPrefillIsBoundByOperations) {
  const KernelClass kernel = *ParseKernelClass("prefill k bf16 bf16 128 0");
  const double seconds = RoofSeconds(kRoof, kernel, std::array{32., 8., 1., 16384.});
  const double operations = 4 * 32 * 128 * (16384. * 16384 / 2 + 64. * 16384);

  EXPECT_NEAR(seconds, operations / (0.7 * kRoof.rate), 0.02 * seconds);
}

TEST(KernelClassTest, AWindowAndGroupedHeadsSaveTime) {
  const KernelClass all = *ParseKernelClass("prefill k bf16 bf16 128 0");
  const KernelClass near = *ParseKernelClass("prefill k bf16 bf16 128 1024");
  const std::array sizes = {32., 8., 1., 16384.};
  EXPECT_LT(RoofSeconds(kRoof, near, sizes), 0.2 * RoofSeconds(kRoof, all, sizes));

  // Decoding reads the keys of each group once.
  const KernelClass decode = *ParseKernelClass("decode k bf16 bf16 128 0");
  const double own = RoofSeconds(kRoof, decode, std::array{32., 32., 64., 8191.});
  const double grouped = RoofSeconds(kRoof, decode, std::array{32., 4., 64., 8191.});
  EXPECT_NEAR(own / grouped, 8, 1);
  EXPECT_NEAR(own, 2. * 64 * 32 * 8192 * 128 * 2 / (0.85 * kRoof.bandwidth), 0.05 * own);
}

TEST(KernelClassTest, FewTokensReadTheExpertsThatTheyChoose) {
  const KernelClass kernel = *ParseKernelClass("experts k bf16 balanced");
  const double one = RoofSeconds(kRoof, kernel, std::array{4096., 14336., 2., 8., 1., 1., 1.});
  const double many = RoofSeconds(kRoof, kernel, std::array{4096., 14336., 2., 8., 1., 1., 64.});
  const double expert = 3. * 4096 * 14336 * 2 / (0.85 * kRoof.bandwidth);

  EXPECT_NEAR(one - 15e-6, 1.875 * expert, 0.1 * expert);
  EXPECT_NEAR(many - 15e-6, 8 * expert, 0.3 * expert);
}

}  // namespace
}  // namespace eidolon::timing::model
