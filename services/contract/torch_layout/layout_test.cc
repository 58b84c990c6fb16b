// Structures of which only places are known.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "services/contract/torch_layout/grouped_gemm.h"
#include "services/contract/torch_layout/offset_calculator.h"
#include "services/contract/torch_layout/reduction.h"
#include "services/contract/torch_layout/scalar_type.h"
#include "services/contract/torch_layout/tensor_list.h"
#include "services/contract/torch_layout/tensor_view.h"

namespace eidolon::torch_layout {
namespace {

// These are declared as in PyTorch, to compare with.
template <typename Index>
struct Info {
  void* data;
  Index sizes[25];
  Index strides[25];
  int dims;
};
struct Calculator {
  int dims;
  std::uint32_t dividers[25][3];
  std::uint32_t strides[25][2];
};
template <std::size_t kDepth, std::size_t kTensors, std::size_t kBlocks, typename Tensor>
struct Lists {
  const void* addresses[kDepth][kTensors];
  std::int64_t numel[kTensors];
  Tensor block_to_tensor[kBlocks];
  int block_to_chunk[kBlocks];
};
struct ApexList {
  void* addresses[4][36];
  int sizes[36];
  unsigned char block_to_tensor[320];
  int block_to_chunk[320];
};

TEST(LayoutTest, TensorsStandAsTheCompilerLaysThemOut) {
  EXPECT_EQ(TensorInfo{.index = 4}.DimensionsAt(), offsetof(Info<std::uint32_t>, dims));
  EXPECT_EQ(TensorInfo{.index = 8}.DimensionsAt(), offsetof(Info<std::uint64_t>, dims));
  EXPECT_EQ(TensorInfo{.index = 8}.SizeAt(3), offsetof(Info<std::uint64_t>, sizes[3]));
  const auto accessor = PackedAccessor::OfBytes(8 + 2 * 3 * 8, 8);
  EXPECT_EQ(accessor.dimensions, 3u);
  EXPECT_EQ(accessor.SizeAt(2), 24u);
  EXPECT_EQ(accessor.StrideAt(0), 32u);
}

TEST(LayoutTest, CalculatorsStandAsTheCompilerLaysThemOut) {
  const OffsetCalculator two{.operands = 2};
  EXPECT_EQ(OffsetCalculator::Bytes(2), sizeof(Calculator));
  EXPECT_EQ(OffsetCalculator::SizeAt(7), offsetof(Calculator, dividers[7]));
  EXPECT_EQ(two.StrideAt(7, 1), offsetof(Calculator, strides[7][1]));
  EXPECT_EQ(OffsetCalculator::AlignedBytes(1), 408u);
}

// Plain copies of the header's declarations, of which only neighbours matter.
TEST(LayoutTest, AReductionsConfigurationIsFourteenWords) {
  struct Config {
    int element_size_bytes, num_inputs, num_outputs, step_input, step_output, ctas_per_output;
    int input_mult[3], output_mult[2];
    int block_width, block_height, num_threads;
  };
  EXPECT_EQ(4 * ReduceConfig::kInputs, offsetof(Config, num_inputs));
  EXPECT_EQ(4 * ReduceConfig::kOutputs, offsetof(Config, num_outputs));
  EXPECT_EQ(4 * ReduceConfig::kBlocksPerOutput, offsetof(Config, ctas_per_output));
  EXPECT_EQ(4 * ReduceConfig::kOutputMultiple, offsetof(Config, output_mult));
  EXPECT_EQ(4 * ReduceConfig::kBlockWidth, offsetof(Config, block_width));
  EXPECT_EQ(4 * ReduceConfig::kThreads, offsetof(Config, num_threads));
  EXPECT_EQ(ReduceConfig::kBytes, sizeof(Config));
}

TEST(LayoutTest, TensorListsStandAsTheCompilerLaysThemOut) {
  using Large = Lists<2, 448, 2240, std::uint16_t>;
  using Small = Lists<2, 64, 320, std::uint8_t>;
  const TensorLists large = TorchLists(2, 0, false, ArgumentSpace::kLarge);
  const TensorLists small = TorchLists(2, 0, false, ArgumentSpace::kSmall);
  const TensorLists apex = ApexLists(4, 4);
  EXPECT_EQ(large.CountsAt(), offsetof(Large, numel));
  EXPECT_EQ(large.OwnersAt(), offsetof(Large, block_to_tensor));
  EXPECT_EQ(large.ChunksAt(), offsetof(Large, block_to_chunk));
  EXPECT_EQ(large.BytesOfTables(), sizeof(Large));
  EXPECT_EQ(small.OwnersAt(), offsetof(Small, block_to_tensor));
  EXPECT_EQ(small.ChunksAt(), offsetof(Small, block_to_chunk));
  EXPECT_EQ(small.BytesOfTables(), sizeof(Small));
  EXPECT_EQ(apex.CountsAt(), offsetof(ApexList, sizes));
  EXPECT_EQ(apex.OwnersAt(), offsetof(ApexList, block_to_tensor));
  EXPECT_EQ(apex.ChunksAt(), offsetof(ApexList, block_to_chunk));
}

TEST(LayoutTest, ListsWithScalarsAreShorter) {
  EXPECT_EQ(TorchLists(1, 4, true, ArgumentSpace::kLarge).tensors, 672u);
  EXPECT_EQ(TorchLists(1, 16, true, ArgumentSpace::kLarge).tensors, 504u);
  EXPECT_EQ(TorchLists(2, 16, true, ArgumentSpace::kLarge).tensors, 420u);
  EXPECT_EQ(TorchLists(2, 8, true, ArgumentSpace::kLarge).tensors, 448u);
  EXPECT_EQ(TorchLists(1, 4, true, ArgumentSpace::kSmall).tensors, 96u);
  EXPECT_EQ(TorchLists(1, 16, true, ArgumentSpace::kSmall).tensors, 72u);
  EXPECT_EQ(TorchLists(2, 16, true, ArgumentSpace::kSmall).tensors, 60u);
}

TEST(LayoutTest, ConcatenationsCountBehindPointersOffsetsAndSizes) {
  const ConcatenatedInputs inputs{.inputs = 128, .index = 4};
  EXPECT_EQ(inputs.CountsAt(), 128u * 8 + 2 * 128 * 4);
}

TEST(LayoutTest, NumbersOfTypesHaveTheirWidths) {
  EXPECT_EQ(ScalarTypeBytes(6), 4u);    // Float.
  EXPECT_EQ(ScalarTypeBytes(15), 2u);   // BFloat16.
  EXPECT_EQ(ScalarTypeBytes(255), 0u);  // None.
  EXPECT_EQ(CastTypes{3}.SizeAt(1), 8u);
  EXPECT_EQ(CastTypes{3}.Bytes(), 16u);
}

TEST(LayoutTest, ParametersOfPreparedGroupsHaveTheirWidths) {
  using Prepare = PrepareGroupedGemm;
  EXPECT_EQ(Prepare::BytesOf(Prepare::kSizes), 8u);
  EXPECT_EQ(Prepare::BytesOf(Prepare::kN), 4u);
  EXPECT_EQ(Prepare::BytesOf(Prepare::kShapeA), 24u);
  EXPECT_EQ(Prepare::BytesOf(24), 8u);
  EXPECT_EQ(Prepare::BytesOf(26), 1u);
}

}  // namespace
}  // namespace eidolon::torch_layout
