#include "shim/value/compute/plausible_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace eidolon::shim::compute {
namespace {

constexpr const char* kOverFrames =
    "_ZN2at6native39_GLOBAL__N__6bd09d29_7_Loss_cu_5b0651e138nll_loss_forward_reduce_cuda_kernel_"
    "2dI"
    "fflEEvPT_S4_PKS3_PKT1_S6_bllll";
constexpr const char* kOfOne =
    "_ZN2at6native39_GLOBAL__N__6bd09d29_7_Loss_cu_5b0651e138nll_loss_forward_reduce_cuda_kernel_"
    "1dI"
    "N3c104HalfElEEvPT_S6_PKS5_PKT0_S8_bll";

std::vector<std::byte> Parameters(bool average, std::vector<std::int64_t> sizes) {
  std::vector<std::byte> block(48 + 8 * sizes.size());
  block[40] = std::byte{average};
  std::memcpy(block.data() + 48, sizes.data(), 8 * sizes.size());
  return block;
}

TEST(PlausibleResultsTest, ALossOverClassesIsThatOfEqualProbabilities) {
  ASSERT_EQ(PlausibleKindOf(kOverFrames), PlausibleKind::kClassLoss);
  const auto mean = PlausibleResultOf(PlausibleKind::kClassLoss, kOverFrames,
                                      Parameters(true, {8192, 50257, 50257, -100}));
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->value, std::log(50257.0));
  EXPECT_EQ(mean->type, ring::ElementType::kFloat32);
  const auto sum = PlausibleResultOf(PlausibleKind::kClassLoss, kOverFrames,
                                     Parameters(false, {8192, 50257, 50257, -100}));
  ASSERT_TRUE(sum);
  EXPECT_DOUBLE_EQ(sum->value, 8192 * std::log(50257.0));
  const auto one =
      PlausibleResultOf(PlausibleKind::kClassLoss, kOfOne, Parameters(false, {10, -100}));
  ASSERT_TRUE(one);
  EXPECT_DOUBLE_EQ(one->value, std::log(10.0));
  EXPECT_EQ(one->type, ring::ElementType::kFloat16);
}

TEST(PlausibleResultsTest, ALossWithParametersOfAnotherFormIsLeftAlone) {
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kClassLoss, kOverFrames, Parameters(true, {8192})));
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kClassLoss, kOverFrames,
                                 Parameters(true, {8192, 1, 0, -100})));
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kClassLoss, kOverFrames,
                                 Parameters(false, {-1, 10, 10, -100})));
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kClassLoss,
                                 "nll_loss_forward_reduce_cuda_kernel_2dIfflEEvPT_bii",
                                 Parameters(true, {8192, 10, 10, -100})));
  EXPECT_FALSE(
      PlausibleResultOf(PlausibleKind::kClassLoss, "nll_loss_forward_reduce_cuda_kernel_", {}));
}

TEST(PlausibleResultsTest, AMeanAndANormHaveTheTypeOfTheirOutput) {
  struct Case {
    const char* mangled;
    PlausibleKind kind;
    double value;
    ring::ElementType type;
  };
  using enum ring::ElementType;
  for (const Case& one : {
           Case{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c104HalfENS0_7MeanOpsIS4_"
                "ffS4_"
                "EEjS4_Li4ELi8EEEEEvT1_",
                PlausibleKind::kMean, 0.5, kFloat16},
           Case{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_"
                "10NormTwoOpsIS4_"
                "fS4_Lb1EEEjS4_Li4ELi4EEEEEvT1_",
                PlausibleKind::kNorm, 1, kBfloat16},
           Case{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_"
                "7NormOpsIS4_ffLb1E"
                "EEjfLi4ELi4EEEEEvT1_",
                PlausibleKind::kNorm, 1, kFloat32},
           Case{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIdNS0_"
                "7MeanOpsIddddEEjdLi4ELi4EEEEEvT1_",
                PlausibleKind::kMean, 0.5, kFloat64},
       }) {
    EXPECT_EQ(PlausibleKindOf(one.mangled), one.kind) << one.mangled;
    const auto result = PlausibleResultOf(one.kind, one.mangled, {});
    ASSERT_TRUE(result) << one.mangled;
    EXPECT_EQ(result->value, one.value) << one.mangled;
    EXPECT_EQ(result->type, one.type) << one.mangled;
  }
  // Means of integers and of complex numbers.
  EXPECT_FALSE(PlausibleResultOf(
      PlausibleKind::kMean,
      "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIaNS0_7MeanOpsIaaaaEEjaLi4ELi4EEEEEvT1_",
      {}));
  EXPECT_FALSE(
      PlausibleResultOf(PlausibleKind::kMean,
                        "_ZN2at6native13reduce_kernelILi256ELi1ENS0_8ReduceOpIN3c107complexIdEENS0_"
                        "7MeanOpsIS5_S5_dS5_EEjS5_Li4ELi4EEEEEvT1_",
                        {}));
}

TEST(PlausibleResultsTest, OnlyASumOfEverythingIsGuessed) {
  constexpr const char* kSum =
      "_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_"
      "11sum_functorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_";
  ASSERT_EQ(PlausibleKindOf(kSum), PlausibleKind::kSum);
  const auto sum_of = [&](std::int32_t outputs) {
    std::vector<std::byte> block(400);
    // The operation and where it begins, then the configuration: 32 x 16 threads.
    const std::int32_t config[] = {4, 4096, outputs, 1, 1, 2, 1, 32, 0, 0, 0, 32, 16, 512};
    std::memcpy(block.data() + 8, config, sizeof(config));
    return PlausibleResultOf(PlausibleKind::kSum, kSum, block);
  };

  ASSERT_TRUE(sum_of(1));
  EXPECT_EQ(sum_of(1)->value, 1);
  EXPECT_EQ(sum_of(1)->type, ring::ElementType::kFloat32);
  EXPECT_FALSE(sum_of(1024)) << "gradients of a bias";
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kSum, kSum, {}));
}

TEST(PlausibleResultsTest, WhatEndsAMeanOrANormOfXlaIsGuessedForOneThread) {
  for (const char* name : {"loop_multiply_fusion", "loop_negate_fusion_12", "wrapped_divide"}) {
    const PlausibleKind kind = PlausibleKindOf(name);
    EXPECT_EQ(kind, PlausibleKind::kMeanOfXla) << name;
    EXPECT_EQ(PlausibleResultOf(kind, name, {})->value, 0.5);
  }
  const PlausibleKind norm = PlausibleKindOf("loop_sqrt_fusion");
  ASSERT_EQ(norm, PlausibleKind::kNormOfXla);
  EXPECT_EQ(PlausibleResultOf(norm, "loop_sqrt_fusion", {})->value, 1.0);
  EXPECT_TRUE(IsOfOneThread(norm));
  EXPECT_FALSE(IsOfOneThread(PlausibleKind::kMean));
  for (const char* name : {"loop_add_fusion", "input_reduce_fusion", "loop_multiplyfusion"}) {
    EXPECT_EQ(PlausibleKindOf(name), PlausibleKind::kNone) << name;
  }
}

TEST(PlausibleResultsTest, OtherKernelsHaveNone) {
  EXPECT_EQ(PlausibleKindOf(
                "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfE"
                "EEjfLi4ELi4EEEEEvT1_"),
            PlausibleKind::kNone);
  EXPECT_EQ(PlausibleKindOf("_ZN2at6native26nll_loss2d_forward_kernelIffEEv"),
            PlausibleKind::kNone);
  EXPECT_FALSE(PlausibleResultOf(PlausibleKind::kNone, "", {}));
}

}  // namespace
}  // namespace eidolon::shim::compute
