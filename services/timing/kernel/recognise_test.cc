#include "services/timing/kernel/recognise.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "services/contract/workload/pointer_tag.h"
#include "services/timing/kernel/launch_test.h"
#include "source_tree.h"

namespace eidolon::timing::kernel {
namespace {

Demand DemandOf(const KernelLaunch& launch) {
  return Recognise(launch, ParseKernelName(launch.name));
}

constexpr char kAddBf16[] =
    "_ZN2at6native29vectorized_elementwise_kernelILi8ENS0_15CUDAFunctor_"
    "addIN3c108BFloat16EEESt5array"
    "IPcLm3EELb0EEEviT0_T1_";

TEST(RecogniseTest, CountsOperandsOfVectorizedKernels) {
  const Demand demand = DemandOf(LaunchBuilder(kAddBf16)
                                     .Grid(1000)
                                     .Block(128)
                                     .Add<std::int32_t>(1 << 20)
                                     .Add(1.0f)
                                     .Pointers(3)
                                     .Build());

  EXPECT_EQ(demand.family, Family::kElementwise);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 3.0 * 2 * (1 << 20));
}

// direct_copy_kernel_cuda of bf16 over strided operands.
constexpr char kStridedCopy[] =
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_"
    "copy_k"
    "ernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108BFloat16EE_EEvS4_RKT_"
    "EUl"
    "iE_EEviT1_";

TEST(RecogniseTest, TheConditionOfWhereIsNotWhatItWrites) {
  const Demand demand = DemandOf(
      LaunchBuilder(
          "_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_49_GLOBAL__N__037c6ad9_16_Tensor"
          "Compare_cu_71e06f4e17where_kernel_implERNS_14TensorIteratorEENKUlvE_clEvENKUlvE1_clEvEUl"
          "bjjE_St5arrayIPcLm4EELb0EEEviT0_T1_")
          .Grid(10)
          .Block(128)
          .Add<std::int32_t>(10'000)
          .AddBytes("\0", 1)
          .Pointers(4)
          .Build());

  EXPECT_DOUBLE_EQ(demand.bytes, 10'000 * (1 + 4 + 4 + 4));
}

TEST(RecogniseTest, ReadsStridesOfStridedKernels) {
  // 1024 x 512: the output is contiguous, the input broadcast along the outer dimension.
  StructBytes closure(304 + 25 * 2 * 4 + 16);
  closure.Set<std::int32_t>(0, 2).Set<std::uint32_t>(4, 1024).Set<std::uint32_t>(16, 512);
  closure.Set<std::uint32_t>(304, 2).Set<std::uint32_t>(308, 2);
  closure.Set<std::uint32_t>(312, 2048).Set<std::uint32_t>(316, 0);
  closure.Set<std::uint64_t>(504, workload::kPointerTag)
      .Set<std::uint64_t>(512, workload::kPointerTag);
  const Demand demand = DemandOf(LaunchBuilder(kStridedCopy)
                                     .Grid(1024)
                                     .Block(128)
                                     .Add<std::int32_t>(1024 * 512)
                                     .AddBytes(closure.bytes(), 8)
                                     .Build());

  EXPECT_EQ(demand.family, Family::kCopy);
  EXPECT_DOUBLE_EQ(demand.bytes, 1024.0 * 512 * 2 + 1024 * 2);
}

// A copy of 1024 x 512 elements of 16 bits whose input has these strides, in bytes.
Demand StridedCopy(std::uint32_t inner, std::uint32_t outer) {
  StructBytes closure(304 + 25 * 2 * 4 + 16);
  closure.Set<std::int32_t>(0, 2).Set<std::uint32_t>(4, 1024).Set<std::uint32_t>(16, 512);
  closure.Set<std::uint32_t>(304, 2).Set<std::uint32_t>(308, inner);
  closure.Set<std::uint32_t>(312, 2048).Set<std::uint32_t>(316, outer);
  closure.Set<std::uint64_t>(504, workload::kPointerTag)
      .Set<std::uint64_t>(512, workload::kPointerTag);
  return DemandOf(LaunchBuilder(kStridedCopy)
                      .Grid(1024)
                      .Block(128)
                      .Add<std::int32_t>(1024 * 512)
                      .AddBytes(closure.bytes(), 8)
                      .Build());
}

TEST(RecogniseTest, LanesThatStandApartAskForASectorEach) {
  constexpr double kElements = 1024 * 512;
  EXPECT_EQ(StridedCopy(2, 2048).sectors, 0);
  EXPECT_EQ(StridedCopy(0, 2).sectors, 0);
  EXPECT_EQ(StridedCopy(1024, 2).sectors, kElements);
  EXPECT_EQ(StridedCopy(16, 2).sectors, kElements / 2);  // Two neighbours share one.
}

TEST(RecogniseTest, AThreadOfAStridedKernelWaitsForEachOfItsElements) {
  constexpr double kElements = 1024 * 512;
  const Demand demand = StridedCopy(2, 4096);
  EXPECT_EQ(demand.elements, kElements);
  EXPECT_EQ(demand.instructions, 46 * kElements);
  EXPECT_EQ(demand.dependent_loads, 4);  // Of 1024 blocks of 128 threads.
  EXPECT_EQ(demand.address_operations, 0);
}

TEST(RecogniseTest, GeluOfSixteenBitsCostsMoreThanOfThirtyTwo) {
  const auto flops = [](const std::string& type) {
    return DemandOf(LaunchBuilder("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_"
                                  "18GeluCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeEENKU"
                                  "lvE0_clEvENKUlvE2_clEvEUl" +
                                  type + "E_St5arrayIPcLm2EEEEviT0_T1_")
                        .Grid(1024)
                        .Block(128)
                        .Add<std::int32_t>(1 << 20)
                        .Build())
        .flops;
  };
  EXPECT_EQ(flops("N3c108BFloat16E"), 66.0 * (1 << 20));
  EXPECT_EQ(flops("f"), 40.0 * (1 << 20));
}

TEST(RecogniseTest, SoftmaxOfRowsInRegistersComputesLongerThanItReads) {
  const auto demand = [](const std::string& base, std::int32_t width) {
    return DemandOf(LaunchBuilder("_ZN2at6native12_GLOBAL__N_1" + base +
                                  "ILi8EN3c108BFloat16EfS4_NS1_22SoftMaxForwardEpilogueEEEvPT2_PKT0"
                                  "_i")
                        .Grid(4096)
                        .Block(1024)
                        .Pointers(1)
                        .Pointers(1)
                        .Add<std::int32_t>(width)
                        .Build());
  };
  // Rows at odd addresses reach as much as others (H200, e2e/measured).
  EXPECT_DOUBLE_EQ(demand("19cunn_SoftMaxForward", 5185).efficiency,
                   demand("19cunn_SoftMaxForward", 5184).efficiency);
  EXPECT_EQ(demand("22cunn_SoftMaxForwardReg", 4096).flops, 160.0 * 4096 * 4096);
  EXPECT_EQ(demand("22cunn_SoftMaxForwardReg", 8192).flops, 200.0 * 4096 * 8192);
  EXPECT_EQ(demand("23cunn_SoftMaxForwardSmem", 16384).flops, 98.0 * 4096 * 16384);
}

// mul of a float tensor by a double scalar, as the wheel launches it.
constexpr char kCastingMul[] =
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implINS0_13BinaryFunctorIfffNS0_"
    "15binary_internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_";

TEST(RecogniseTest, WhatNobodyInitialisedChangesNothing) {
  // The functor without state is a byte of whatever was there, before the operands' types.
  for (const int leftover : {0, 1, 6, 7, 0xa0}) {
    StructBytes closure(648);
    closure.Set<std::int32_t>(0, 1).Set<std::uint32_t>(4, 1 << 20);
    closure.Set<std::uint32_t>(304, 4).Set<std::uint32_t>(308, 4).Set<std::uint32_t>(312, 0);
    for (const std::size_t at : {608, 616, 624})
      closure.Set<std::uint64_t>(at, workload::kPointerTag);
    closure.Set(632, static_cast<std::uint8_t>(leftover));
    for (const auto& [at, type] : {std::pair{633, 6}, {634, 6}, {635, 7}}) {
      closure.Set(static_cast<std::size_t>(at), static_cast<std::uint8_t>(type));
    }
    const Demand demand = DemandOf(LaunchBuilder(kCastingMul)
                                       .Grid(2048)
                                       .Block(128)
                                       .Add<std::int32_t>(1 << 20)
                                       .AddBytes(closure.bytes(), 8)
                                       .Build());

    EXPECT_DOUBLE_EQ(demand.bytes, 2.0 * 4 * (1 << 20) + 8) << leftover;
  }
}

constexpr char kSumBf16[] =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapper_tIS4_"
    "ZNS0"
    "_11sum_functorIS4_fS4_EclERNS_14TensorIteratorEEUlffE_EEjS4_Li4ELi8EEEEEvT1_";

TEST(RecogniseTest, FindsTheReduceConfigByTheBlock) {
  StructBytes op(512);
  const std::size_t at = 8;  // After the functor and the identity.
  op.Set<std::int32_t>(at, 2).Set<std::int32_t>(at + 4, 4096).Set<std::int32_t>(at + 8, 128);
  op.Set<std::int32_t>(at + 44, 32).Set<std::int32_t>(at + 48, 16).Set<std::int32_t>(at + 52, 512);
  const Demand demand =
      DemandOf(LaunchBuilder(kSumBf16).Grid(8).Block(32, 16).AddBytes(op.bytes(), 8).Build());

  EXPECT_EQ(demand.family, Family::kReduction);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 4096.0 * 128 * 2 + 128 * 2);
}

// FusedOptimizerTensorListMetadata<4> of CUDA 13 builds, with two tensors.
TEST(RecogniseTest, SumsTheTensorsOfAFusedOptimizer) {
  constexpr std::size_t kTensors = 252, kBlocks = 2240;
  const std::size_t numel = 8 * 4 * kTensors;
  const std::size_t to_tensor = numel + 16 * kTensors;
  const std::size_t to_chunk = to_tensor + 2 * kBlocks;
  StructBytes list(to_chunk + 4 * kBlocks + 8);
  list.Set<std::int64_t>(numel, 100'000).Set<std::int64_t>(numel + 8, 10);
  list.Set<std::int32_t>(to_chunk + 4, 1);
  list.Set<std::uint16_t>(to_tensor + 4, 1);
  const Demand demand = DemandOf(
      LaunchBuilder(
          "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_32FusedOptimizerTenso"
          "rListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKf"
          "EEEvT_T0_DpT1_")
          .Grid(3)
          .Block(512)
          .AddBytes(list.bytes(), 8)
          .Build());

  EXPECT_EQ(demand.family, Family::kOptimizer);
  EXPECT_EQ(demand.evidence, Evidence::kParameters);
  EXPECT_DOUBLE_EQ(demand.bytes, 100'010.0 * 4 * 7);
}

// Inductor wrote these for torchao's float8 layers on 4 x 1024 rows: signatures *bf16, *bf16 (one
// scale), *fp8e4nv; *bf16, *bf16, *fp8e5, *fp8e5 (as it is and transposed).
TEST(RecogniseTest, CompiledCastsToFloat8WriteOneByteAnElement) {
  const auto launch = [](const char* name, int pointers) {
    LaunchBuilder builder(name);
    builder.Grid(128, 64).Block(256);
    for (int i = 0; i < pointers; ++i) builder.Pointer();
    return builder.Add<std::int32_t>(2048)
        .Add<std::int32_t>(4096)
        .Add<std::uint64_t>(0)
        .Add<std::uint64_t>(0)
        .Build();
  };
  const double elements = 2048.0 * 4096;
  const Demand one = DemandOf(
      launch("triton_poi_fused__scaled_mm__to_copy_clamp_clone_mul_reciprocal_t_view_4", 3));
  const Demand two = DemandOf(
      launch("triton_poi_fused__scaled_mm__to_copy_clamp_clone_mul_reciprocal_silu_t_view_3", 4));

  EXPECT_DOUBLE_EQ(one.bytes, 3 * elements);
  // 4 in truth: which of the pointers are read is not known.
  EXPECT_DOUBLE_EQ(two.bytes, 4.5 * elements);
  EXPECT_EQ(one.evidence, Evidence::kGrid);
  // Others keep the bytes of an average element.
  EXPECT_DOUBLE_EQ(DemandOf(launch("triton_poi_fused__to_copy_mul_4", 3)).bytes, 7.5 * elements);
}

TEST(RecogniseTest, TakesSizesOfCompiledKernelsFromTheirNumels) {
  const Demand pointwise = DemandOf(LaunchBuilder("triton_poi_fused_add_mul_3")
                                        .Grid(1024)
                                        .Block(128)
                                        .Pointers(1)
                                        .Pointers(1)
                                        .Add<std::int32_t>(1 << 20)
                                        .Add<std::uint64_t>(0)
                                        .Build());
  const Demand reduction = DemandOf(LaunchBuilder("triton_per_fused_mean_pow_1")
                                        .Grid(4096)
                                        .Block(64)
                                        .Pointers(3)
                                        .Add<std::int32_t>(4096)
                                        .Add<std::int32_t>(1024)
                                        .Build());

  EXPECT_EQ(pointwise.family, Family::kTriton);
  EXPECT_DOUBLE_EQ(pointwise.bytes, 2 * 2.5 * (1 << 20));
  EXPECT_DOUBLE_EQ(reduction.bytes, 2.5 * 4096 * 1024);
}

TEST(RecogniseTest, SizesFlexAttentionByItsGrid) {
  const Demand demand = DemandOf(LaunchBuilder("triton_tem_fused_flex_attention_0")
                                     .Grid(16, 2, 8)
                                     .Block(256)
                                     .Pointers(9)
                                     .Build());

  EXPECT_EQ(demand.family, Family::kAttentionForward);
  EXPECT_EQ(demand.evidence, Evidence::kGrid);
  EXPECT_EQ(demand.query_length, 2048);
  EXPECT_EQ(demand.batch_heads, 16);
  EXPECT_EQ(demand.head_size, 128);
}

TEST(RecogniseTest, CandidatesOfFlexAttentionAreSizedLikeTheOneThatIsChosen) {
  const auto sized = [](const char* name) {
    return DemandOf(LaunchBuilder(name).Grid(64, 8, 16).Block(128).Pointers(18).Build());
  };
  const Demand chosen = sized("triton_tem_fused_flex_attention_backward_1");
  const Demand candidate = sized("triton_flex_attention_backward");

  EXPECT_EQ(chosen.family, Family::kAttentionBackward);
  EXPECT_EQ(chosen.query_length, 2048);
  EXPECT_EQ(chosen.head_size, 64);
  EXPECT_EQ(candidate.family, chosen.family);
  EXPECT_EQ(candidate.flops, chosen.flops);
}

TEST(RecogniseTest, AGradientOfFlexAttentionHasTheQueryBlocksOfAllHeadsThatShareKeys) {
  const auto sized = [](std::uint32_t blocks) {
    return DemandOf(LaunchBuilder("triton_tem_fused_flex_attention_backward_1")
                        .Grid(blocks, 2, 8)
                        .Block(256)
                        .Pointers(18)
                        .Build());
  };
  const Demand shared = sized(160);  // Of 4096 tokens, 32 heads on 8 of keys.
  const Demand odd = sized(46);      // Of 2944 tokens.

  EXPECT_EQ(shared.query_length, 4096);
  EXPECT_EQ(shared.batch_heads, 2 * 32);
  EXPECT_EQ(odd.query_length, 2944);
  EXPECT_EQ(odd.batch_heads, 2 * 8);
}

TEST(RecogniseTest, AReductionBesideFlexAttentionIsAReduction) {
  const Demand demand = DemandOf(LaunchBuilder("triton_per_fused_flex_attention_backward_0")
                                     .Grid(32768)
                                     .Block(64)
                                     .Pointers(3)
                                     .Add<std::int32_t>(262'144)
                                     .Add<std::int32_t>(16)
                                     .Build());

  EXPECT_EQ(demand.family, Family::kTriton);
  EXPECT_DOUBLE_EQ(demand.bytes, 2.5 * 262'144 * 16);
}

TEST(RecogniseTest, AnUnknownKernelIsAGuess) {
  const Demand demand =
      DemandOf(LaunchBuilder("my_kernel").Grid(100).Block(256).Pointers(2).Build());

  EXPECT_EQ(demand.family, Family::kUnknown);
  EXPECT_EQ(demand.evidence, Evidence::kGuess);
  EXPECT_GT(demand.bytes, 0);
}

TEST(RecogniseTest, AConversionIsNoConvolution) {
  const auto family = [](const char* name) {
    return DemandOf(LaunchBuilder(name).Grid(100).Block(256).Pointers(2).Build()).family;
  };

  EXPECT_EQ(family("wrapped_convert"), Family::kCast);
  EXPECT_EQ(family("loop_convert_fusion_2"), Family::kCast);
  EXPECT_EQ(family("implicit_convolve_sgemm"), Family::kGemm);
  EXPECT_EQ(family("conv_transpose"), Family::kConvolution);
}

TEST(RecogniseTest, ShortParametersNeverCrash) {
  std::ifstream names(EIDOLON_SOURCE_DIR "/services/timing/kernel/testdata/kernel_families.txt");
  std::string family, name;
  int count = 0;
  while (names >> family >> name) {
    const KernelName parsed = ParseKernelName(name);
    EXPECT_EQ(Name(FamilyOf(parsed)), family) << parsed.full;
    for (const std::size_t size : {0u, 4u, 64u, 4096u}) {
      LaunchBuilder builder(name);
      builder.Grid(7, 2, 3).Block(128);
      if (size > 0) builder.AddBytes(std::string(size, '\x01'), 8).Add<std::int32_t>(1000);
      const Demand demand = Recognise(builder.Build(), parsed);
      EXPECT_GE(demand.bytes, 0) << name;
    }
    ++count;
  }
  EXPECT_GT(count, 300);
}

TEST(RecogniseTest, NamesAreParsedOnce) {
  KernelNames names;

  EXPECT_EQ(names.Get(kAddBf16), names.Get(kAddBf16));
}

TEST(RecogniseTest, AnAssertionReadsOneElement) {
  constexpr char kName[] = "_ZN2at6native25_assert_async_cuda_kernelIbEEvPKT_NS0_3MsgE";
  const auto launch = LaunchBuilder(kName).Grid(1).Block(1).Pointers(1).Build();

  const Demand demand = Recognise(launch, ParseKernelName(kName));

  EXPECT_EQ(demand.family, Family::kMisc);
  EXPECT_EQ(demand.evidence, Evidence::kGrid);
  EXPECT_EQ(demand.bytes, 16);
  EXPECT_EQ(demand.serial_steps, 1);
}

TEST(RecogniseTest, ASleepLastsItsClocks) {
  constexpr char kName[] = "_ZN2at4cuda40_GLOBAL__N__b51f33dc_8_Sleep_cu_088d913f11spin_kernelEl";
  const auto clocks = [&](std::int64_t value) {
    const auto launch = LaunchBuilder(kName).Grid(1).Block(1).Add(value).Build();
    const Demand demand = Recognise(launch, ParseKernelName(kName));
    EXPECT_EQ(demand.evidence, Evidence::kParameters);
    return demand.clocks;
  };

  EXPECT_EQ(clocks(50'000'000), 50e6);
  EXPECT_EQ(clocks(0), 0);
  EXPECT_EQ(clocks(-1), 0);
}

TEST(RecogniseTest, KernelsBetweenThePassesOfASortAreCounted) {
  for (const char* name :
       {"_ZN14at_cuda_detail3cub6detail10radix_sort33DeviceRadixSortExclusiveSumKernelINS1_5radix10"
        "policy_hubIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE10Policy1000EyEEvPT0_",
        "_ZN14at_cuda_detail3cub6detail4scan20DeviceScanInitKernelINS0_13ScanTileStateIlLb1EEEEEvT_"
        "i"}) {
    const auto launch = LaunchBuilder(name).Grid(8).Block(256).Pointers(1).Build();

    const Demand demand = Recognise(launch, ParseKernelName(name));

    EXPECT_EQ(demand.evidence, Evidence::kGrid) << name;
    EXPECT_GE(demand.bytes, 8 * 256 * 8) << name;
    EXPECT_GT(demand.serial_steps, 0) << name;
  }
}

}  // namespace
}  // namespace eidolon::timing::kernel
