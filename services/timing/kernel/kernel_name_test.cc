#include "services/timing/kernel/kernel_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/demangle.h"

namespace eidolon::timing::kernel {
namespace {

using testing::ElementsAre;

TEST(KernelNameTest, TakesATemplateApart) {
  const KernelName name = ParseKernelName(
      "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_"
      "addIN3c108BFloat16EEESt5ar"
      "rayIPcLm3EELb0EEEviT0_T1_");

  EXPECT_EQ(name.base, "vectorized_elementwise_kernel");
  EXPECT_THAT(name.templates, ElementsAre("8", "at::native::CUDAFunctor_add<c10::BFloat16>",
                                          "std::array<char*, 3ul>", "false"));
  EXPECT_THAT(name.parameters, ElementsAre("int", "at::native::CUDAFunctor_add<c10::BFloat16>",
                                           "std::array<char*, 3ul>"));
}

TEST(KernelNameTest, CNamesStayAsTheyAre) {
  const KernelName name = ParseKernelName("triton_poi_fused_add_mul_3");

  EXPECT_EQ(name.base, "triton_poi_fused_add_mul_3");
  EXPECT_TRUE(name.templates.empty());
  EXPECT_TRUE(name.parameters.empty());
}

TEST(KernelNameTest, AcceptsAnyText) {
  for (const char* text :
       {"", "_Z", "_ZN", ")", "()", "<>", "a>", "f(", "x::y<z)", "::", "_Z1fv"}) {
    EXPECT_NO_FATAL_FAILURE(ParseKernelName(text)) << text;
  }
}

TEST(KernelNameTest, DoesNotDemangleEndlessNames) {
  const std::string endless = "_Z" + std::string(base::kMangledMax, 'x');

  EXPECT_EQ(ParseKernelName(endless).full.size(), base::kMangledMax);
}

TEST(KernelNameTest, SplitsOutsideOfBracketsOnly) {
  EXPECT_THAT(SplitTopLevel("a<b, c>, d(e, f), {g, h}"),
              ElementsAre("a<b, c>", "d(e, f)", "{g, h}"));
  EXPECT_EQ(TemplateArguments("x::ReduceOp<float, Op<int> >::y", "ReduceOp"), "float, Op<int> ");
  EXPECT_EQ(TemplateArguments("x", "ReduceOp"), "");
}

}  // namespace
}  // namespace eidolon::timing::kernel
