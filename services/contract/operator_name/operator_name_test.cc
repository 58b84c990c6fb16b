#include "services/contract/operator_name/operator_name.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::operator_name {
namespace {

// Names as PyTorch 2.15 has them, cut where nothing follows that tells them apart.
TEST(OperatorNameTest, KernelsOfAtenHaveTheNameOfTheirOperator) {
  struct Row {
    const char* kernel;
    const char* name;
  };
  for (const auto& [kernel, name] : {
           Row{"void at::native::vectorized_elementwise_kernel<8, at::native::"
               "CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>, false>(int, ...)",
               "aten::add"},
           Row{"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
               "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
               "operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}>",
               "aten::copy_"},
           Row{"void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous "
               "namespace)::silu_backward_kernel(at::TensorIteratorBase&)::{lambda()#1}::"
               "operator()() const::{lambda()#4}",
               "aten::silu_backward"},
           Row{"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl("
               "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}",
               "aten::gelu"},
           Row{"void at::native::vectorized_elementwise_kernel<4, at::native::"
               "reciprocal_kernel_cuda(at::TensorIteratorBase&)::{lambda()#1}",
               "aten::reciprocal"},
           Row{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
               "at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >",
               "aten::mean"},
           Row{"void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, "
               "float, at::native::(anonymous namespace)::LogSoftMaxBackwardEpilogue>(float*)",
               "aten::_log_softmax_backward_data"},
           Row{"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>",
               "aten::_flash_attention_forward"},
       }) {
    EXPECT_EQ(OperatorOf(kernel), name) << kernel;
  }
}

TEST(OperatorNameTest, MangledNamesAreReadToo) {
  EXPECT_EQ(
      OperatorOf("_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_addIN3c10"
                 "8BFloat16EEESt5arrayIPcLm3EELb0EEEviT0_T1_"),
      "aten::add");
  EXPECT_EQ(
      OperatorOf("_ZN2at6native52_GLOBAL__N__1f580294_19_fused_adamw_impl_cu_8b44fa2325multi_"
                 "tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataILi4EEENS1_20Fused"
                 "AdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKfdddddbS9_S9_EEEvT_T0_DpT1_"),
      "AdamW step");
}

TEST(OperatorNameTest, OptimizersHaveARole) {
  const std::string kernel =
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::"
      "FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)";
  EXPECT_EQ(OperatorOf(kernel + "1, false>, float const*>(...)"), "AdamW step");
  EXPECT_EQ(OperatorOf(kernel + "0, false>, float const*>(...)"), "Adam step");
}

TEST(OperatorNameTest, KernelsOverListsOfTensorsAreToldApartByWhatTheyCompute) {
  const std::string kernel =
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
      "namespace)::TensorListMetadata<3>, at::native::(anonymous namespace)::";
  EXPECT_EQ(OperatorOf(kernel + "PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies<float>"),
            "aten::_foreach_addcmul_");
  EXPECT_EQ(
      OperatorOf(kernel + "PointwiseOpScalarListFunctor<float, 3, 3, 0>, std::divides<float>"),
      "aten::_foreach_addcdiv_");
  EXPECT_EQ(OperatorOf(kernel + "BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>"),
            "aten::_foreach_mul_");
}

TEST(OperatorNameTest, CompiledKernelsHaveTheNamesOfWhatTheyFuse) {
  EXPECT_EQ(OperatorOf("triton_poi_fused_mul_silu_split_0"), "compiled mul_silu_split");
  EXPECT_EQ(OperatorOf("triton_red_fused__to_copy_add_mean_12"), "compiled to_copy_add_mean");
  EXPECT_EQ(OperatorOf("triton_per_fused_0"), "");
}

TEST(OperatorNameTest, WhatIsNoKernelOfPyTorchHasNone) {
  for (const char* name : {"", "gemm 1x2x3", "memcpy HtoD", "my_kernel", "triton_", "_fused_add_0",
                           "void at::native::Weird(at::TensorIteratorBase&)"}) {
    EXPECT_EQ(OperatorOf(name), "") << name;
  }
}

}  // namespace
}  // namespace eidolon::operator_name
