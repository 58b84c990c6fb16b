#include "services/timing/kernel/pointwise_operations.h"

#include <gtest/gtest.h>

#include <string>

namespace eidolon::timing::kernel {
namespace {

TEST(PointwiseOperationsTest, OnlyGeneralPowersCallThePowerFunction) {
  const char* impl =
      "at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>"
      "(at::TensorIteratorBase&, float)::{lambda(float)#";

  EXPECT_EQ(OperationsPerElement(std::string(impl) + "1}"), 5);
  EXPECT_EQ(OperationsPerElement(std::string(impl) + "2}"), 5);
  EXPECT_EQ(OperationsPerElement(std::string(impl) + "3}"), 5);
  EXPECT_EQ(OperationsPerElement(std::string(impl) + "4}"), kPowerOperations);
  EXPECT_EQ(OperationsPerElement("at::native::pow_tensor_tensor_kernel(at::TensorIteratorBase&)::"
                                 "{lambda()#1}::operator()() const::{lambda(float, float)#1}"),
            kPowerOperations);
}

TEST(PointwiseOperationsTest, ExponentialsCostMoreThanSums) {
  EXPECT_EQ(OperationsPerElement("at::native::CUDAFunctor_add<float>"), 5);
  EXPECT_EQ(OperationsPerElement("at::native::tanh_kernel_cuda(at::TensorIteratorBase&)"), 40);
}

}  // namespace
}  // namespace eidolon::timing::kernel
