#include "shim/value/compute/read_only_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eidolon::shim::compute {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ReadOnlyParametersTest, PointersToConstAreFoundByTheirPlaces) {
  // indices, grad, grad_weight, n, stride, padding_idx.
  EXPECT_THAT(
      ReadOnlyParameters("_ZN2at6native45_GLOBAL__N__495ba4d0_12_Embedding_cu_9c8c8d3a33embedding_"
                         "backward_feature_kernelIfflEEvPKT1_PKT_PS6_ili"),
      ElementsAre(0, 8));
  // output, total_weight, input, target, weights, size_average, sizes.
  EXPECT_THAT(
      ReadOnlyParameters("_ZN2at6native39_GLOBAL__N__6bd09d29_7_Loss_cu_5b0651e138nll_loss_forward_"
                         "reduce_cuda_kernel_2dIfflEEvPT_S4_PKS3_PKT1_S6_bllll"),
      ElementsAre(16, 24, 32));
}

TEST(ReadOnlyParametersTest, PlacesAreAlignedToSizes) {
  EXPECT_THAT(ReadOnlyParameters("_Z1fiPKfbdPKcPc"), ElementsAre(8, 32));
}

TEST(ReadOnlyParametersTest, APointerToPointersIsNotOneToConst) {
  EXPECT_THAT(ReadOnlyParameters("_Z1fPPKfS0_"), ElementsAre(8));
}

TEST(ReadOnlyParametersTest, WithoutEachParametersPlaceNothingIsSaid) {
  EXPECT_THAT(ReadOnlyParameters("_Z1fPKf6Struct"), IsEmpty());
  EXPECT_THAT(ReadOnlyParameters("triton_poi_fused_0"), IsEmpty());
  EXPECT_THAT(ReadOnlyParameters("_Z1fv"), IsEmpty());
  EXPECT_THAT(ReadOnlyParameters("_Z"), IsEmpty());
  EXPECT_THAT(ReadOnlyParameters(""), IsEmpty());
}

}  // namespace
}  // namespace eidolon::shim::compute
