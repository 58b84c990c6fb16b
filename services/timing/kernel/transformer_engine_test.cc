#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

constexpr char kForward[] =
    "_ZN18transformer_engine13normalization19ln_fwd_tuned_kernelINS0_13Kernel_traitsI13__nv_"
    "bfloat16S3_13__nv_fp8_e4m3fjLj1024ELj1ELj4ELj1ELj16ENS0_18Kernel_traits_baseILj1024ES3_S3_S4_"
    "fjLj128EEEEEEEvNS0_19ForwardKernelParamsE";
constexpr char kBackward[] =
    "_ZN18transformer_engine13normalization19ln_bwd_tuned_kernelINS0_13Kernel_traitsI13__nv_"
    "bfloat16S3_S3_fjLj1024ELj1ELj4ELj1ELj16ENS0_18Kernel_traits_baseILj1024ES3_S3_S3_fjLj128EEEEEE"
    "EvNS0_20BackwardKernelParamsE";
constexpr char kFinalize[] =
    "_ZN18transformer_engine13normalization28ln_bwd_finalize_tuned_kernelINS0_22Kernel_traits_"
    "finalizeILj1024E13__nv_bfloat16S3_S3_fjLj1024ELj4ENS0_18Kernel_traits_baseILj1024ES3_S3_S3_"
    "fjLj1024EEEEEEEvNS0_20BackwardKernelParamsE";
constexpr char kGelu[] =
    "_ZN18transformer_engine12unary_kernelILi16ELb1EfNS_5EmptyEXadL_ZNS_4geluIffEET_T0_RKS1_EE13__"
    "nv_bfloat1613__nv_fp8_e4m3EEvPKT4_PKT1_PT5_SE_PSC_SH_T2_mm";
constexpr char kGatedGradient[] =
    "_ZN18transformer_engine17dgated_act_kernelILi16ELb1EfNS_5EmptyEXadL_ZNS_5qgeluIffEET_T0_RKS1_"
    "EEXadL_ZNS_6dqgeluIffEES3_S4_S6_EE13__nv_bfloat1613__nv_fp8_e5m2EEvPKT5_SC_PT6_PKT1_PSF_SI_"
    "mmT2_m";
constexpr char kCastTranspose[] =
    "_Z31cast_transpose_optimized_kernelPK13__nv_bfloat16PKfP13__nv_fp8_e4m3S5_S3_PfS6_mm";
constexpr char kCastTransposeBias[] =
    "_Z38cast_transpose_fusion_kernel_optimizedN18transformer_engine16CTDBiasDActParamI13__nv_"
    "bfloat16S1_13__nv_fp8_e5m2fEEmmm";
constexpr char kTranspose[] = "_Z26transpose_optimized_kernelPK13__nv_fp8_e4m3PKfPS_mm";
constexpr char kBiasGradient[] =
    "_ZN18transformer_engine6detail19reduce_dbias_kernelILi4Ef13__nv_bfloat16EEvPT1_PKT0_ii";
constexpr char kSeed[] =
    "_ZN18transformer_engine10fused_attn23extract_seed_and_offsetEPlbS1_mS1_mj";
constexpr char kNormOfNorms[] =
    "_ZN18transformer_engine19multi_tensor_l2norm7cleanupEPfS1_S1_S1_bi";
constexpr char kAdam[] =
    "_Z25multi_tensor_apply_kernelI18TensorListMetadataILi5ELb0EEN18transformer_engine17multi_"
    "tensor_adam27AdamCapturableMasterFunctorI13__nv_bfloat16S5_ffEEJffPiifPfNS3_10adamMode_"
    "tEfS8_EEvlPViT_T0_DpT1_";

Demand TransformerDemand(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

KernelLaunch Norm(const char* name, std::int32_t groups, std::int32_t rows, std::int32_t columns) {
  StructBytes params(160);
  params.Set<std::int32_t>(0, groups).Set<std::int32_t>(4, 1);
  params.Set<std::int32_t>(8, rows).Set<std::int32_t>(12, columns);
  return LaunchBuilder(name).Grid(groups).Block(128).AddBytes(params.bytes(), 8).Build();
}

TEST(TransformerEngineTest, CountsRowsAndColumnsOfNorms) {
  const Demand forward = TransformerDemand(Norm(kForward, 528, 16384, 4096));

  EXPECT_EQ(forward.family, Family::kNormalization);
  EXPECT_EQ(forward.evidence, Evidence::kParameters);
  // Read in 16 bits, written in 8; two statistics a row; gamma and beta.
  EXPECT_DOUBLE_EQ(forward.bytes, 16384.0 * 4096 * 3 + 16384 * 8 + 4096 * 4);
}

TEST(TransformerEngineTest, BackwardNormsLeavePartialSumsThatTheFinalizingKernelReads) {
  const Demand backward = TransformerDemand(Norm(kBackward, 264, 16384, 4096));
  const Demand finalize = TransformerDemand(Norm(kFinalize, 264, 16384, 4096));

  const double partial = 264.0 * 4096 * 8;
  EXPECT_DOUBLE_EQ(backward.bytes, 16384.0 * 4096 * 6 + 16384 * 8 + 4096 * 4 + partial);
  EXPECT_DOUBLE_EQ(finalize.bytes, partial + 4096 * 4);
  EXPECT_EQ(finalize.family, Family::kNormalization);
}

// As the library launches them: the columns are those of the kernel, and the kernel that adds up
// partial sums is not told the rows.
TEST(TransformerEngineTest, TunedNormsHaveTheirColumnsInTheirName) {
  const Demand forward = TransformerDemand(Norm(kForward, 528, 16384, 0));
  const Demand backward = TransformerDemand(Norm(kBackward, 264, 16384, 0));
  const Demand finalize = TransformerDemand(Norm(kFinalize, 264, 0, 0));

  const double partial = 264.0 * 1024 * 8;
  EXPECT_EQ(forward.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(forward.bytes, 16384.0 * 1024 * 3 + 16384 * 8 + 1024 * 4);
  EXPECT_DOUBLE_EQ(backward.bytes, 16384.0 * 1024 * 6 + 16384 * 8 + 1024 * 4 + partial);
  EXPECT_DOUBLE_EQ(finalize.bytes, partial + 1024 * 4);
}

TEST(TransformerEngineTest, NormsWithoutSizesAreAssumed) {
  EXPECT_EQ(TransformerDemand(Norm(kForward, 528, 0, 0)).evidence, Evidence::kGuess);
  EXPECT_EQ(TransformerDemand(Norm(kForward, 0, 1, 1)).evidence, Evidence::kGuess);
  EXPECT_EQ(TransformerDemand(Norm(kForward, 1, -5, 4096)).evidence, Evidence::kGuess);
}

TEST(TransformerEngineTest, ActivationsReadAndWriteTheirTypes) {
  const Demand gelu = TransformerDemand(LaunchBuilder(kGelu)
                                            .Grid(512)
                                            .Block(512)
                                            .Pointers(1)
                                            .Add<std::uint64_t>(0)
                                            .Pointers(1)
                                            .Pointers(1)
                                            .Pointers(1)
                                            .Pointers(1)
                                            .Add<std::uint8_t>(0)
                                            .Add<std::uint64_t>(1 << 22)
                                            .Add<std::uint64_t>(1 << 18)
                                            .Build());

  EXPECT_EQ(gelu.family, Family::kElementwise);
  EXPECT_EQ(gelu.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(gelu.bytes, 3.0 * (1 << 22));
}

TEST(TransformerEngineTest, GatedActivationsHaveTwoHalves) {
  LaunchBuilder builder(kGatedGradient);
  builder.Grid(512).Block(512);
  for (int i = 0; i < 6; ++i) builder.Pointer();
  const Demand demand = TransformerDemand(builder.Add<std::uint64_t>(1024)
                                              .Add<std::uint64_t>(4096)
                                              .Add<std::uint8_t>(0)
                                              .Add<std::uint64_t>(256)
                                              .Build());

  EXPECT_DOUBLE_EQ(demand.bytes, 1024.0 * 4096 * (2 + 2 * 2 + 2 * 1));
}

TEST(TransformerEngineTest, CastsWithTransposeWriteTwice) {
  LaunchBuilder cast(kCastTranspose);
  cast.Grid(1024).Block(256);
  for (int i = 0; i < 7; ++i) cast.Pointer();
  const Demand plain =
      TransformerDemand(cast.Add<std::uint64_t>(4096).Add<std::uint64_t>(1024).Build());
  const Demand bias = TransformerDemand(LaunchBuilder(kCastTransposeBias)
                                            .Grid(1024)
                                            .Block(256)
                                            .Pointers(9)
                                            .Add<std::uint64_t>(4096)
                                            .Add<std::uint64_t>(1024)
                                            .Add<std::uint64_t>(512)
                                            .Build());
  const Demand transpose = TransformerDemand(LaunchBuilder(kTranspose)
                                                 .Grid(1024)
                                                 .Block(256)
                                                 .Pointer()
                                                 .Pointer()
                                                 .Pointer()
                                                 .Add<std::uint64_t>(4096)
                                                 .Add<std::uint64_t>(1024)
                                                 .Build());

  constexpr double kElementsOfBias = 4096.0 * 1024;
  EXPECT_EQ(plain.family, Family::kCast);
  EXPECT_DOUBLE_EQ(plain.bytes, kElementsOfBias * 4);
  EXPECT_DOUBLE_EQ(bias.bytes, kElementsOfBias * 4);
  EXPECT_DOUBLE_EQ(transpose.bytes, kElementsOfBias * 2);
  EXPECT_EQ(transpose.family, Family::kCopy);
}

TEST(TransformerEngineTest, BiasGradientsAddUpPartialRows) {
  const Demand demand = TransformerDemand(LaunchBuilder(kBiasGradient)
                                              .Grid(32)
                                              .Block(128)
                                              .Pointer()
                                              .Pointer()
                                              .Add<std::int32_t>(4096)
                                              .Add<std::int32_t>(128)
                                              .Build());

  EXPECT_EQ(demand.family, Family::kReduction);
  EXPECT_DOUBLE_EQ(demand.bytes, 4096.0 * 128 * 4 + 4096 * 2);
}

TEST(TransformerEngineTest, BlocksThatHandOnAFewWordsAreNotAssumed) {
  const Demand seed = TransformerDemand(LaunchBuilder(kSeed).Grid(1).Block(1).Pointers(1).Build());
  const Demand norm =
      TransformerDemand(LaunchBuilder(kNormOfNorms).Grid(1).Block(512).Pointers(4).Build());

  EXPECT_EQ(seed.family, Family::kMisc);
  EXPECT_EQ(seed.evidence, Evidence::kGrid);
  EXPECT_EQ(norm.family, Family::kReduction);
  EXPECT_EQ(norm.evidence, Evidence::kGrid);
}

TEST(TransformerEngineTest, TensorListsHaveSizesOfSixtyFourBits) {
  constexpr std::size_t kTensors = 30, kLists = 5;
  const std::size_t sizes = 8 * kLists * kTensors;
  const std::size_t to_tensor = sizes + 8 * kTensors;
  const std::size_t to_chunk = to_tensor + 320;
  StructBytes list(to_chunk + 4 * 320 + 8);
  list.Set<std::int64_t>(sizes, 100'000).Set<std::int64_t>(sizes + 8, 10);
  list.Set<std::int32_t>(to_chunk + 4, 1).Set<std::uint8_t>(to_tensor + 2, 1);
  const Demand demand = TransformerDemand(LaunchBuilder(kAdam)
                                              .Grid(3)
                                              .Block(512)
                                              .Add<std::int64_t>(65536)
                                              .Pointer()
                                              .AddBytes(list.bytes(), 8)
                                              .Build());

  EXPECT_EQ(demand.family, Family::kOptimizer);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 100'010.0 * 2 * 9);
}

TEST(TransformerEngineTest, RotaryEmbeddingsTurnTheHeadsOfEachPlace) {
  // 2048 places of 4 sequences, 16 heads of 128.
  LaunchBuilder rope(
      "_ZN18transformer_engine25fused_rope_forward_kernelI13__nv_bfloat16EEvPKT_PKiPKfS6_PS2_"
      "biiiiiiiiiiiiii");
  rope.Grid(2048, 4).Block(32, 4).Pointers(1).Pointers(1).Pointers(1).Pointers(1).Pointers(1);
  rope.Add<std::uint8_t>(0);
  for (const std::int32_t size :
       {1, 0, 2048, 16, 128, 128, 8192, 2048, 128, 1, 8192, 2048, 128, 1}) {
    rope.Add<std::int32_t>(size);
  }
  const Demand demand = TransformerDemand(rope.Build());

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 2048.0 * 4 * 16 * 128 * 4 + 4 * 2048 * 128);
}

TEST(TransformerEngineTest, RotaryEmbeddingsOfQueriesKeysAndValuesTogether) {
  // 2048 places of 4 sequences, 4 groups of 4 x 128 queries, 128 keys and 128 values.
  LaunchBuilder rope(
      "_ZN18transformer_engine29fused_qkv_rope_forward_kernelI13__nv_bfloat16EEvPKT_PKfS6_PKiPS2_"
      "S9_S9_15NVTE_QKV_Formatbiiiiiiiiii");
  rope.Grid(2048, 4).Block(32, 4);
  for (int i = 0; i < 7; ++i) rope.Pointers(1);
  rope.Add<std::int32_t>(0).Add<std::uint8_t>(0);
  for (const std::int32_t size : {1, 0, 2048, 4, 4, 128, 128, 512, 128, 128}) {
    rope.Add<std::int32_t>(size);
  }
  const Demand demand = TransformerDemand(rope.Build());

  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 2048.0 * 4 * 4 * (512 + 128 + 128) * 4);
}

TEST(TransformerEngineTest, RoutersReadAScoreForEachTokenAndExpert) {
  const Demand demand = TransformerDemand(
      LaunchBuilder("_ZN18transformer_engine12fused_router45fused_topk_with_score_function_forward_"
                    "kernelIffL20NVTERoutingMapFormat0ELNS0_12TopkFuncTypeE1ELi0EiLNS0_6QBModeE0EE"
                    "EvPKT_iiibiifPKT0_PS5_PhPfPT4_iSD_PiPKfi")
          .Grid(1024)
          .Block(128)
          .Pointers(1)
          .Add<std::int32_t>(4096)
          .Add<std::int32_t>(128)
          .Add<std::int32_t>(8)
          .Build());

  EXPECT_EQ(demand.family, Family::kSort);
  EXPECT_DOUBLE_EQ(demand.bytes, 4096.0 * 128 * 13);
}

}  // namespace
}  // namespace eidolon::timing::kernel
