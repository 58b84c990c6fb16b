// The numbers that other processes know (services/contract/cudnn_numbers) are the vendor's.
#include <cudnn.h>
#include <gtest/gtest.h>

#include "services/contract/cudnn_numbers/attribute.h"
#include "services/contract/cudnn_numbers/operation.h"
#include "shim/vendor/cudnn/node.h"

namespace eidolon::shim::cudnn {
namespace {

namespace numbers = cudnn_numbers;

// Works for any enumeration.
template <typename E>
long Number(E value) {
  return static_cast<long>(value);
}

TEST(NumbersTest, AttributesAreTheVendors) {
  EXPECT_EQ(Number(numbers::kHandle), Number(CUDNN_TYPE_HANDLE));
  EXPECT_EQ(Number(numbers::kBoolean), Number(CUDNN_TYPE_BOOLEAN));
  EXPECT_EQ(Number(numbers::kInt64), Number(CUDNN_TYPE_INT64));
  EXPECT_EQ(Number(numbers::kDouble), Number(CUDNN_TYPE_DOUBLE));
  EXPECT_EQ(Number(numbers::kVoidPointer), Number(CUDNN_TYPE_VOID_PTR));
  EXPECT_EQ(Number(numbers::kBackendDescriptor), Number(CUDNN_TYPE_BACKEND_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kChar), Number(CUDNN_TYPE_CHAR));
  EXPECT_EQ(Number(numbers::kFraction), Number(CUDNN_TYPE_FRACTION));
  EXPECT_EQ(Number(numbers::kLastType), Number(CUDNN_TYPE_OPERATIONGRAPH_MODE));
  EXPECT_EQ(numbers::ElementBytes(numbers::kFraction), sizeof(cudnnFraction_t));
  EXPECT_EQ(numbers::ElementBytes(numbers::kHandle), sizeof(cudnnHandle_t));
  EXPECT_EQ(numbers::ElementBytes(CUDNN_TYPE_DATA_TYPE), sizeof(cudnnDataType_t));
}

TEST(NumbersTest, TheBlockOfTensorsIsTheVendors) {
  for (int name = 0; name < 4096; ++name) {
    const int owner = OwnerOf(static_cast<cudnnBackendAttributeName_t>(name));
    if (owner < 0) continue;
    EXPECT_EQ(owner == CUDNN_BACKEND_TENSOR_DESCRIPTOR,
              numbers::IsOfTensor(static_cast<std::uint32_t>(name)))
        << name;
  }
}

TEST(NumbersTest, OperationsAreTheVendors) {
  EXPECT_EQ(Number(numbers::kConvolutionForward),
            Number(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kConvolutionBackwardFilter),
            Number(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kConvolutionBackwardData),
            Number(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kPointwise), Number(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kMatmul), Number(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kReduction), Number(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kResampleForward),
            Number(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kResampleBackward),
            Number(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kNormForward), Number(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kNormBackward),
            Number(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kRandom), Number(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kSdpaForward), Number(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kSdpaBackward), Number(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kDiagonalBandMask),
            Number(CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kSoftmax), Number(CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR));
  EXPECT_EQ(Number(numbers::kPointwiseExp), Number(CUDNN_POINTWISE_EXP));
  EXPECT_EQ(Number(numbers::kPointwiseGenIndex), Number(CUDNN_POINTWISE_GEN_INDEX));
}

}  // namespace
}  // namespace eidolon::shim::cudnn
