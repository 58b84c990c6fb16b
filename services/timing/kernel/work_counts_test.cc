#include "services/timing/kernel/work_counts.h"

#include <gtest/gtest.h>

#include <string>

#include "services/contract/torch_layout/tensor_list.h"
#include "services/timing/kernel/launch_test.h"

namespace eidolon::timing::kernel {
namespace {

std::optional<WorkCounts> StepOf(const KernelLaunch& launch) {
  return OptimizerStep(launch, ParseKernelName(launch.name));
}

// PyTorch's kernel over lists of two tensors, of 100,000 and 10 elements, in three blocks.
KernelLaunch OverTwoTensors(const std::string& name, std::size_t depth, std::size_t extra) {
  const auto lists =
      torch_layout::TorchLists(depth, extra, false, torch_layout::ArgumentSpace::kLarge);
  StructBytes bytes(lists.BytesOfTables());
  bytes.Set<std::int64_t>(lists.CountsAt(), 100'000).Set<std::int64_t>(lists.CountsAt() + 8, 10);
  bytes.Set<std::int32_t>(lists.ChunksAt() + 4, 1);
  bytes.Set<std::uint16_t>(lists.OwnersAt() + 4, 1);
  return LaunchBuilder(name).Grid(3).Block(512).AddBytes(bytes.bytes(), 8).Build();
}

std::string Kernel(const std::string& functor_and_operation, int depth) {
  return "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::"
         "(anonymous namespace)::TensorListMetadata<" +
         std::to_string(depth) + ">, at::native::(anonymous namespace)::" + functor_and_operation +
         " >(at::native::(anonymous namespace)::TensorListMetadata<" + std::to_string(depth) +
         ">, int)";
}

TEST(WorkCountsTest, TellsTheParametersGradientsAndMomentsOfFusedAdam) {
  const auto step = StepOf(OverTwoTensors(
      "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTenso"
      "rListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKf"
      "EEEvT_T0_DpT1_",
      4, 8));

  ASSERT_TRUE(step);
  EXPECT_DOUBLE_EQ(step->parameters, 400'040);
  EXPECT_DOUBLE_EQ(step->gradients, 400'040);
  EXPECT_DOUBLE_EQ(step->optimizer_state, 800'080);
  EXPECT_EQ(step->matrix_flops, 0);
}

TEST(WorkCountsTest, AddsTheForeachKernelsOfAdamUp) {
  const auto lerp = StepOf(OverTwoTensors(
      Kernel("TernaryOpScalarFunctor<float, 2, 2, 0>, at::native::LerpFunctor<float>, float", 2), 2,
      0));
  const auto multiply = StepOf(OverTwoTensors(
      Kernel("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>, float", 3), 3, 0));
  const auto divide = StepOf(OverTwoTensors(
      Kernel("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::divides<float>, float", 3), 3, 0));

  ASSERT_TRUE(lerp && multiply && divide);
  EXPECT_DOUBLE_EQ(lerp->gradients, 400'040);
  EXPECT_DOUBLE_EQ(lerp->optimizer_state + multiply->optimizer_state, 800'080);
  EXPECT_DOUBLE_EQ(divide->parameters, 400'040);
  EXPECT_EQ(lerp->parameters + multiply->parameters, 0);
  EXPECT_EQ(multiply->gradients + divide->gradients, 0);
}

TEST(WorkCountsTest, SaysNothingOfOtherKernelsAndOfTablesThatMakeNoSense) {
  EXPECT_FALSE(StepOf(OverTwoTensors(
      Kernel("BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float", 1), 1, 0)));
  EXPECT_FALSE(StepOf(LaunchBuilder("_Z4fillPfi").Grid(3).Block(32).Pointer().Add(7).Build()));
  KernelLaunch short_tables = OverTwoTensors(
      Kernel("PointwiseOpScalarFunctor<float, 3, 3, 0>, std::divides<float>, float", 3), 3, 0);
  short_tables.parameters.resize(100);
  EXPECT_FALSE(StepOf(short_tables));
}

TEST(WorkCountsTest, SaysNothingWhereElementsAreOfSeveralWidths) {
  EXPECT_FALSE(StepOf(OverTwoTensors(
      Kernel("FusedAdamMathFunctor<float, c10::BFloat16, 4>, float const*", 4), 4, 0)));
}

}  // namespace
}  // namespace eidolon::timing::kernel
