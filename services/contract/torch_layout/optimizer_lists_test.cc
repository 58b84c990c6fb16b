#include "services/contract/torch_layout/optimizer_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace eidolon::torch_layout {
namespace {

using enum ListRole;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string Name(const std::string& metadata, const std::string& functor) {
  return "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
         "(anonymous namespace)::" +
         metadata + ", at::native::(anonymous namespace)::" + functor + ">(int)";
}

TEST(OptimizerListsTest, FusedOptimizersUpdateReadAndKeep) {
  const auto adam = FindOptimizerLists(
      Name("FusedOptimizerTensorListMetadata<4>", "FusedAdamMathFunctor<c10::BFloat16, 4, true>"),
      false);
  ASSERT_TRUE(adam);
  EXPECT_THAT(adam->roles, ElementsAre(kParameters, kGradients, kState, kState, kOther));
  EXPECT_EQ(adam->element_bytes, 2u);
  EXPECT_EQ(adam->CountOf(kState), 2u);
  const auto sgd = FindOptimizerLists(
      Name("FusedOptimizerTensorListMetadata<2>", "FusedSgdMathFunctor<float, 2>"), false);
  ASSERT_TRUE(sgd);
  EXPECT_THAT(sgd->roles, ElementsAre(kParameters, kGradients, kOther, kOther, kOther));
}

TEST(OptimizerListsTest, GradientsComeFirstInApex) {
  const auto adam = FindOptimizerLists(
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>, "
      "float>(long, int volatile*, TensorListMetadata<4>)",
      true);
  ASSERT_TRUE(adam);
  EXPECT_THAT(adam->roles, ElementsAre(kGradients, kParameters, kState, kState, kOther));
}

TEST(OptimizerListsTest, ForeachAdamConsistsOfThreeKernels) {
  const auto roles = [](const std::string& functor) {
    const auto found = FindOptimizerLists(Name("TensorListMetadata<3>", functor), false);
    return found ? found->roles : std::array<ListRole, 5>{};
  };
  EXPECT_THAT(roles("TernaryOpScalarFunctor<float, 2, 2, 0>, at::native::LerpFunctor<float>"),
              ElementsAre(kState, kGradients, kOther, kOther, kOther));
  EXPECT_THAT(roles("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>"),
              ElementsAre(kState, kOther, kOther, kOther, kOther));
  EXPECT_THAT(roles("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::divides<float>"),
              ElementsAre(kParameters, kOther, kOther, kOther, kOther));
}

TEST(OptimizerListsTest, OtherKernelsHaveNone) {
  EXPECT_FALSE(
      FindOptimizerLists(Name("TensorListMetadata<1>",
                              "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>"),
                         false));
  EXPECT_FALSE(FindOptimizerLists(
      Name("FusedOptimizerTensorListMetadata<4>", "FusedAdamMathFunctor<float, c10::BFloat16, 4>"),
      false));
  EXPECT_FALSE(FindOptimizerLists("void fill<float>(float*)", false));
  EXPECT_FALSE(FindOptimizerLists("", true));
}

// Two of three tensors are worked on: of 100,000 and of 10 elements.
class ListTensorsTest : public ::testing::Test {
 protected:
  ListTensorsTest() {
    for (std::uint64_t list = 0; list < 2; ++list) {
      for (std::uint64_t tensor = 0; tensor < 3; ++tensor) {
        Set(8 * (lists_.tensors * list + tensor), 0x1000 * (list + 1) + tensor);
      }
    }
    Set<std::int64_t>(lists_.CountsAt(), 100'000);
    Set<std::int64_t>(lists_.CountsAt() + 8, 7);
    Set<std::int64_t>(lists_.CountsAt() + 16, 10);
    Set<std::uint16_t>(lists_.OwnersAt() + 4, 2);
  }
  template <typename T>
  void Set(std::size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof(value));
  }

  const TensorLists lists_ = TorchLists(2, 8, false, ArgumentSpace::kLarge);
  std::vector<std::byte> bytes_ = std::vector<std::byte>(lists_.BytesOfTables());
  const OptimizerLists optimizer_{.roles = {kParameters, kGradients}, .element_bytes = 4};
};

TEST_F(ListTensorsTest, TensorsAreWholeAndEachIsThereOnceForEachList) {
  const auto tensors = ListTensors(optimizer_, lists_, bytes_, 3);

  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].address, 0x1000u);
  EXPECT_EQ(tensors[0].bytes, 400'000u);
  EXPECT_EQ(tensors[0].role, kParameters);
  EXPECT_EQ(tensors[1].address, 0x2000u);
  EXPECT_EQ(tensors[1].role, kGradients);
  EXPECT_EQ(tensors[3].address, 0x2002u);
  EXPECT_EQ(tensors[3].bytes, 40u);
}

TEST_F(ListTensorsTest, TablesThatMakeNoSenseHaveNone) {
  EXPECT_THAT(ListTensors(optimizer_, lists_, bytes_, lists_.blocks + 1), IsEmpty());
  EXPECT_THAT(ListTensors(optimizer_, lists_, std::span(bytes_).first(100), 1), IsEmpty());
  Set<std::int64_t>(lists_.CountsAt() + 16, -1);
  EXPECT_THAT(ListTensors(optimizer_, lists_, bytes_, 3), IsEmpty());
  Set<std::uint16_t>(lists_.OwnersAt(), 60'000);
  EXPECT_THAT(ListTensors(optimizer_, lists_, bytes_, 1), IsEmpty());
}

}  // namespace
}  // namespace eidolon::torch_layout
