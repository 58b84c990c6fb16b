#include "services/controller/shown/kernel_title.h"

#include <gtest/gtest.h>

namespace eidolon::controller::shown {
namespace {

TEST(KernelTitleTest, KeepsTheFunctionAndItsTemplateArguments) {
  EXPECT_EQ(KernelTitle("void at::native::vectorized_elementwise_kernel<4, "
                        "at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, float*)",
                        100),
            "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1ul> >");
  EXPECT_EQ(KernelTitle("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
                        "at::native::(anonymous namespace)::Metadata<4>, "
                        "Functor<float, (at::native::ADAM_MODE)1> >(at::native::Metadata<4>)",
                        100),
            "multi_tensor_apply_kernel<Metadata<4>, Functor<float, (ADAM_MODE)1> >");
}

TEST(KernelTitleTest, LeavesOtherNamesAsTheyAre) {
  EXPECT_EQ(KernelTitle("gemm 8192x8192x2048", 60), "gemm 8192x8192x2048");
  EXPECT_EQ(KernelTitle("aten::_foreach_add_", 60), "aten::_foreach_add_");
  EXPECT_EQ(KernelTitle("memcpy HtoD", 60), "memcpy HtoD");
  EXPECT_EQ(KernelTitle("triton_poi_fused_add_0", 60), "triton_poi_fused_add_0");
  EXPECT_EQ(KernelTitle("", 60), "");
}

TEST(KernelTitleTest, ShortensInTheMiddle) {
  const std::string title = KernelTitle("beginning" + std::string(100, 'x') + "end", 30);

  EXPECT_EQ(title, "beginning" + std::string(8, 'x') + "..." + std::string(7, 'x') + "end");
  EXPECT_EQ(title.size(), 30u);
}

TEST(KernelTitleTest, CutsBetweenCharacters) {
  EXPECT_EQ(KernelTitle(std::string(16, 'a') + "\u00e9\u00e9\u00e9\u00e9", 20),
            std::string(16, 'a') + "...");
}

TEST(KernelTitleTest, EndsWithTextThatIsCutInTheMiddleOfAName) {
  EXPECT_EQ(KernelTitle("void at::native::f<at::", 60), "f<");
  EXPECT_EQ(KernelTitle("void ::", 60), "");
  EXPECT_EQ(KernelTitle("a->b::c(", 60), "a->c");
}

}  // namespace
}  // namespace eidolon::controller::shown
