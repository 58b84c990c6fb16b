// Attention kernels of PyTorch: sizes from their parameter structs and grids.
#include <gtest/gtest.h>

#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

Demand DemandOfAttention(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

constexpr char kFlash[] =
    "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_"
    "traitsILi128ELi128ELi32ELi4ELb0ELb0EN7cu"
    "tlass10bfloat16_tE19Flash_kernel_traitsILi128ELi128ELi32ELi4ES3_"
    "EELb0ELb1ELb0ELb0ELb1ELb1ELb0ELb"
    "0EEEvNS_16Flash_fwd_paramsE";

TEST(RecogniseTest, ReadsFlashAttentionSizes) {
  StructBytes params(400);
  params.Set<std::int32_t>(176, 2).Set<std::int32_t>(180, 4000).Set<std::int32_t>(184, 4096);
  params.Set<std::int32_t>(192, 128);
  const Demand demand = DemandOfAttention(
      LaunchBuilder(kFlash).Grid(32, 2, 16).Block(128).AddBytes(params.bytes(), 8).Build());

  EXPECT_EQ(demand.family, Family::kAttentionForward);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_TRUE(demand.causal);
  EXPECT_EQ(demand.batch_heads, 32);
  EXPECT_EQ(demand.query_length, 4000);
  EXPECT_EQ(demand.key_length, 4096);
  EXPECT_EQ(demand.head_size, 128);
}

// A kernel for one head size never reads it, so that a launch's identity holds a zero in its place.
TEST(RecogniseTest, ReadsFlashAttentionSizesWithoutTheHeadSize) {
  StructBytes params(400);
  params.Set<std::int32_t>(176, 2).Set<std::int32_t>(180, 4000).Set<std::int32_t>(184, 512);
  const Demand demand = DemandOfAttention(
      LaunchBuilder(kFlash).Grid(32, 2, 16).Block(128).AddBytes(params.bytes(), 8).Build());

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_EQ(demand.query_length, 4000);
  EXPECT_EQ(demand.key_length, 512);
  EXPECT_EQ(demand.head_size, 128);
}

constexpr char kFlashSplit[] =
    "_ZN13pytorch_flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_"
    "traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cu"
    "tlass10bfloat16_tE19Flash_kernel_traitsILi128ELi64ELi128ELi4ES3_"
    "EELb0ELb0ELb0ELb0ELb1ELb0ELb1ELb0EEEvNS_16Flash_fwd_paramsE";

// The same with keys whole.
constexpr char kFlashPages[] =
    "_ZN13pytorch_flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_"
    "traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cu"
    "tlass10bfloat16_tE19Flash_kernel_traitsILi128ELi64ELi128ELi4ES3_"
    "EELb0ELb0ELb0ELb0ELb1ELb0ELb0ELb0EEEvNS_16Flash_fwd_paramsE";

// Decoding: 4 sequences, 8 heads of keys with 4 of queries each as queries, keys in 5 parts.
TEST(RecogniseTest, ReadsFlashAttentionThatSplitsKeys) {
  StructBytes params(464);
  params.Set<std::int32_t>(104, 1).Set<std::int32_t>(176, 4).Set<std::int32_t>(180, 4);
  params.Set<std::int32_t>(184, 8192).Set<std::int32_t>(192, 128);
  const auto launch =
      LaunchBuilder(kFlashSplit).Block(128).AddBytes(params.bytes(), 8).Grid(1, 5, 32).Build();
  const Demand demand = DemandOfAttention(launch);

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_TRUE(demand.split_keys);
  EXPECT_FALSE(demand.causal);
  EXPECT_EQ(demand.batch, 4);
  EXPECT_EQ(demand.batch_heads, 32);
  EXPECT_EQ(demand.heads_each, 1);
  EXPECT_EQ(demand.query_length, 4);
  EXPECT_EQ(demand.key_length, 8192);
}

// As PyTorch 2.15 launches it: what the kernel does not read is zero, and the heads before the
// sizes (8, 8 and 1) could be a batch, its queries and its keys.
TEST(RecogniseTest, TakesHeadsForNoSizesWhereKeysAreInParts) {
  const auto launch = [](std::uint32_t parts, std::int32_t batch, std::int32_t keys) {
    StructBytes params(472);
    params.Set<std::int32_t>(96, 8).Set<std::int32_t>(100, 8).Set<std::int32_t>(104, 1);
    params.Set<std::int32_t>(176, batch).Set<std::int32_t>(180, 4).Set<std::int32_t>(184, keys);
    params.Set<std::int32_t>(204, 128).Set<std::int32_t>(440, 65536);
    return DemandOfAttention(LaunchBuilder(kFlashSplit)
                                 .Grid(1, parts, static_cast<std::uint32_t>(8 * batch))
                                 .Block(128)
                                 .AddBytes(params.bytes(), 8)
                                 .Build());
  };
  for (const std::int32_t batch : {1, 2, 8}) {
    for (const std::int32_t keys : {1024, 16384, 131072}) {
      // Parts may be as many as there are heads or sequences.
      for (const std::uint32_t parts : {2u, 8u, 26u}) {
        const Demand demand = launch(parts, batch, keys);
        EXPECT_EQ(demand.evidence, Evidence::kParameters);
        EXPECT_EQ(demand.batch, batch);
        EXPECT_EQ(demand.batch_heads, 8 * batch);
        EXPECT_EQ(demand.query_length, 4);
        EXPECT_EQ(demand.key_length, keys);
        EXPECT_EQ(demand.key_parts, parts);
      }
    }
  }
}

TEST(RecogniseTest, CountsWhatCombiningPartsOfKeysMoves) {
  const Demand demand = DemandOfAttention(
      LaunchBuilder("_ZN13pytorch_flash32flash_fwd_splitkv_combine_kernelI23Flash_fwd_kernel_"
                    "traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cutlass10bfloat16_tE19Flash_kernel_"
                    "traitsILi128ELi64ELi128ELi4ES3_EELi4ELi3ELb1EEEvNS_16Flash_fwd_paramsE")
          .Grid(64)
          .Block(128)
          .Build());
  // 256 rows of 128 numbers: 6 parts in single precision, a result in 16 bits.
  EXPECT_EQ(demand.family, Family::kAttentionForward);
  EXPECT_DOUBLE_EQ(demand.bytes, 256.0 * 128 * (6 * 4 + 2));
}

TEST(RecogniseTest, ReadsHowManyHeadsShareKeys) {
  StructBytes params(464);
  params.Set<std::int32_t>(104, 4).Set<std::int32_t>(176, 2).Set<std::int32_t>(180, 4096);
  params.Set<std::int32_t>(184, 4096).Set<std::int32_t>(192, 128);
  const Demand demand = DemandOfAttention(
      LaunchBuilder(kFlashPages).Grid(64, 2, 32).Block(128).AddBytes(params.bytes(), 8).Build());

  EXPECT_EQ(demand.batch, 2);
  EXPECT_EQ(demand.batch_heads, 64);
  EXPECT_EQ(demand.heads_each, 4);
  EXPECT_TRUE(demand.split_keys);
}

}  // namespace
}  // namespace eidolon::timing::kernel
