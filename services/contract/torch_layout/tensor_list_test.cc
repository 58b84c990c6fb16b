#include "services/contract/torch_layout/tensor_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace eidolon::torch_layout {
namespace {

constexpr char kUnary[] =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi2EEENS1_14"
    "UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4SqrtIfEEEEEvT_T0_DpT1_";
constexpr char kScalars[] =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_28TensorListScalarListMetadataIfLi3"
    "EEENS1_28PointwiseOpScalarListFunctorIfLi3ELi3ELi0EEEJSt7dividesIfEEEEvT_T0_DpT1_";
constexpr char kFused[] =
    "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadata"
    "ILi4EEENS1_21FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE0ELb0EEEJPKfddddbS9_S9_EEEvT_T0_DpT1_";
constexpr char kConcatenation[] =
    "_ZN2at6native12_GLOBAL__N_135CatArrayBatchedCopy_alignedK_contigINS1_10OpaqueTypeILj4EEEjLi1E"
    "Li128ELi1ELi16EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_EEENS1_16TensorSizeStride"
    "IS8_Lj4EEEiS8_";

// (4 addresses, a count and a step) x 252, 2240 blocks, and which tensor comes first.
constexpr unsigned kFusedBytes = (4 * 8 + 8 + 8) * 252 + 6 * 2240 + 8;

// Bytes of chance, with a table of two tensors of three and two blocks.
std::vector<std::byte> FiveBlocks(const TensorLists& lists, std::size_t bytes, unsigned chance) {
  std::vector<std::byte> block(bytes, static_cast<std::byte>(chance));
  const std::size_t owners = (8 * lists.depth + 8 + lists.extra) * lists.tensors;
  const std::uint16_t tensor_of[] = {0, 0, 0, 1, 1};
  const std::int32_t chunk_of[] = {0, 1, 2, 0, 1};
  std::memcpy(block.data() + owners, tensor_of, sizeof(tensor_of));
  std::memcpy(block.data() + owners + 2 * TensorLists::kBlocks, chunk_of, sizeof(chunk_of));
  for (std::size_t list = 0; list < lists.depth; ++list) {
    std::memset(block.data() + 8 * lists.tensors * list, 7, 16);
  }
  std::memset(block.data() + 8 * lists.depth * lists.tensors, 8, 16);
  std::memset(block.data() + (8 * lists.depth + 8) * lists.tensors, 9, 2 * lists.extra);
  return block;
}

TEST(TensorListTest, LayoutsFollowFromNameAndSize) {
  const auto unary = FindTensorLists(kUnary, 24200);
  const auto scalars = FindTensorLists(kScalars, 25536);
  const auto fused = FindTensorLists(kFused, kFusedBytes);

  ASSERT_TRUE(unary && scalars && fused);
  EXPECT_EQ(unary->depth, 2u);
  EXPECT_EQ(unary->tensors, 448u);
  EXPECT_EQ(scalars->depth, 3u);
  EXPECT_EQ(scalars->extra, 4u);
  EXPECT_EQ(fused->depth, 4u);
  EXPECT_EQ(fused->extra, 8u);
}

TEST(TensorListTest, ShortTablesHaveAByteForTheTensorOfABlock) {
  // 36 tensors of four addresses and a count of 8 or 4 bytes, 320 blocks.
  const auto torch = FindTensorLists(kUnary, 64 * (2 * 8 + 8) + 5 * 320 + 8);
  const auto apex = FindTensorLists("_Z25multi_tensor_apply_kernelI18TensorListMetadataILi4EEE",
                                    36 * (4 * 8 + 4) + 5 * 320 + 8);
  ASSERT_TRUE(torch && apex);
  EXPECT_EQ(torch->tensors, 64u);
  EXPECT_EQ(apex->count_bytes, 4u);

  std::vector<std::byte> block(64 * 24 + 5 * 320 + 8, std::byte{0x55});
  std::byte* const owners = block.data() + torch->OwnersAt();
  owners[0] = owners[1] = std::byte{0};
  owners[2] = std::byte{1};
  torch->ClearUnused(block.data(), 3);
  EXPECT_EQ(block[8 * 2 - 1], std::byte{0x55});
  EXPECT_EQ(block[8 * 2], std::byte{0}) << "the third tensor";
  EXPECT_EQ(owners[2], std::byte{1});
  EXPECT_EQ(owners[3], std::byte{0});
}

TEST(TensorListTest, AnotherSizeIsNotTakenForOne) {
  EXPECT_FALSE(FindTensorLists(kUnary, 24208));
  EXPECT_FALSE(FindTensorLists(kUnary, 8));
  EXPECT_FALSE(FindTensorLists("_Z5scalePffi", 24200));
  EXPECT_FALSE(FindTensorLists("18TensorListMetadataILi9EE", 24200));
  EXPECT_FALSE(FindTensorLists("18TensorListMetadataI", 24200));
  EXPECT_FALSE(FindConcatenatedInputs(kConcatenation, 2728));
  EXPECT_FALSE(FindConcatenatedInputs(kUnary, 2720));
}

TEST(TensorListTest, OnlyWhatBlocksReadTellsListsApart) {
  for (const auto& [name, bytes] :
       {std::pair(kUnary, 24200u), std::pair(kScalars, 25536u), std::pair(kFused, kFusedBytes)}) {
    const TensorLists lists = *FindTensorLists(name, bytes);
    auto one = FiveBlocks(lists, bytes, 0x11);
    auto other = FiveBlocks(lists, bytes, 0xee);
    // The number behind the tables is read, but for those of fused optimizers, which is not set.
    if (lists.has_first_tensor) {
      std::memset(one.data() + lists.BytesOfTables(), 5, 4);
      std::memset(other.data() + lists.BytesOfTables(), 5, 4);
    }

    lists.ClearUnused(one.data(), 5);
    lists.ClearUnused(other.data(), 5);

    EXPECT_EQ(one, other) << name;
    EXPECT_EQ(one[lists.BytesOfTables() - 1], std::byte{0});
    EXPECT_EQ(lists.has_first_tensor, name == kUnary);
    if (lists.padding != 0) {
      EXPECT_EQ(one[lists.BytesOfTables()], lists.has_first_tensor ? std::byte{5} : std::byte{0});
    }
    EXPECT_EQ(one[0], std::byte{7});
    EXPECT_EQ(one[15], std::byte{7});
    EXPECT_EQ(one[16], std::byte{0});
    EXPECT_EQ(one[8 * lists.depth * lists.tensors + 15], std::byte{8});
  }
}

TEST(TensorListTest, LaunchesOfOneLargeTensorDoTheSameWork) {
  const TensorLists lists = *FindTensorLists(kUnary, 24200);
  const auto launch = [&](std::int32_t first, std::int64_t elements) {
    std::vector<std::byte> block(24200);
    std::memcpy(block.data() + lists.CountsAt(), &elements, sizeof(elements));
    for (std::int32_t i = 0; i < 5; ++i) {
      const std::int32_t chunk = first + i;
      std::memcpy(block.data() + lists.ChunksAt() + 4 * i, &chunk, sizeof(chunk));
    }
    lists.NumberFromFirstChunk(block.data(), 5);
    return block;
  };
  constexpr std::int64_t kChunk = 65536;

  EXPECT_EQ(launch(0, 100 * kChunk), launch(50, 100 * kChunk));
  EXPECT_NE(launch(0, 100 * kChunk), launch(95, 100 * kChunk - 1)) << "the last one is shorter";
  EXPECT_EQ(launch(0, 5 * kChunk - 1), launch(95, 100 * kChunk - 1));
}

TEST(TensorListTest, TablesThatMakeNoSenseAreLeftAlone) {
  const TensorLists lists = *FindTensorLists(kUnary, 24200);
  const std::vector<std::byte> chance(24200, std::byte{0xff});
  auto block = chance;

  lists.ClearUnused(block.data(), 5);
  EXPECT_EQ(block, chance);
  lists.ClearUnused(block.data(), 2241);
  EXPECT_EQ(block, chance);
}

TEST(TensorListTest, InputsBehindTheLastAreNotRead) {
  const ConcatenatedInputs inputs = *FindConcatenatedInputs(kConcatenation, 2720);
  EXPECT_EQ(inputs.inputs, 128u);
  EXPECT_EQ(inputs.index, 4u);
  std::vector<std::byte> block(2720, std::byte{0x55});

  inputs.ClearUnused(block.data(), 3);

  const auto is_zero = [&](std::size_t begin, std::size_t end) {
    return std::all_of(block.begin() + std::ptrdiff_t(begin), block.begin() + std::ptrdiff_t(end),
                       [](std::byte b) { return b == std::byte{0}; });
  };
  EXPECT_EQ(block[23], std::byte{0x55});
  EXPECT_TRUE(is_zero(24, 1024));
  EXPECT_EQ(block[1024 + 11], std::byte{0x55});
  EXPECT_TRUE(is_zero(1024 + 12, 1536));
  EXPECT_EQ(block[2560 + 2], std::byte{0x55});
  EXPECT_TRUE(is_zero(2560 + 3, 2688));
  EXPECT_TRUE(is_zero(2688, 2720));
  inputs.ClearShape(block.data());
  EXPECT_EQ(block[3], std::byte{0x55});
  EXPECT_TRUE(is_zero(4, 16));
  EXPECT_EQ(block[16 + 3], std::byte{0x55});
  auto whole = block;
  inputs.ClearUnused(whole.data(), 129);
  EXPECT_EQ(whole, block);
}

}  // namespace
}  // namespace eidolon::torch_layout
