#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

constexpr double kRows = 8192;
constexpr double kColumns = 2048;
constexpr double kElements = kRows * kColumns;

// Builds the parameters of these kernels: tensor maps, pointers, sizes.
class Quantizer {
 public:
  explicit Quantizer(const std::string& name) : builder_(name) { builder_.Grid(1024).Block(256); }

  Quantizer& Maps(int count) {
    for (int i = 0; i < count; ++i) builder_.AddBytes(std::string(128, '\x5a'), 64);
    return *this;
  }
  Quantizer& Pointers(int count) {
    for (int i = 0; i < count; ++i) builder_.Pointers(1);
    return *this;
  }
  template <typename T>
  Quantizer& Sizes() {
    builder_.Add(static_cast<T>(kRows)).Add(static_cast<T>(kColumns));
    return *this;
  }
  template <typename T>
  Quantizer& Add(T value) {
    builder_.Add(value);
    return *this;
  }
  Demand Get() const {
    const KernelLaunch launch = builder_.Build();
    const Demand demand = Recognise(launch, ParseKernelName(launch.name));
    EXPECT_EQ(demand.evidence, Evidence::kParameters) << launch.name;
    return demand;
  }
  double BytesPerElement() const { return Get().bytes / kElements; }

 private:
  LaunchBuilder builder_;
};

TEST(TransformerEngineQuantizeTest, TheLargestMagnitudeIsReadOnce) {
  const Demand demand =
      Quantizer(
          "_ZN18transformer_engine51_GLOBAL__N__95d1fbd5_18_current_scaling_cu_6a676ec611amax_"
          "kernelILi16ELb1E13__nv_bfloat16EEvPKT1_PfmmPKf")
          .Pointers(2)
          .Add<std::uint64_t>(1 << 24)
          .Add<std::uint64_t>(1 << 20)
          .Pointers(1)
          .Get();

  EXPECT_EQ(demand.family, Family::kReduction);
  EXPECT_DOUBLE_EQ(demand.bytes, 2.0 * (1 << 24));
}

TEST(TransformerEngineQuantizeTest, BlocksOf128AreWrittenTheWaysThatWereAskedFor) {
  const auto bytes = [](std::int32_t by_rows, std::int32_t by_columns) {
    return Quantizer(
               "_ZN18transformer_engine71_GLOBAL__N__85086984_38_quantize_transpose_vector_"
               "blockwise_cu_d4a478bd37block_scaled_1d_cast_transpose_kernelILb1Ef13__nv_"
               "bfloat1613__nv_fp8_e4m3EEvPKT1_PT2_S8_PT0_SA_mmmmmmfNS_6detail25FP8Blockwise"
               "RowwiseOptionENSB_28FP8BlockwiseColumnwiseOptionEbPKf")
        .Pointers(5)
        .Sizes<std::uint64_t>()
        .Sizes<std::uint64_t>()
        .Sizes<std::uint64_t>()
        .Add<float>(1e-9F)
        .Add<std::int32_t>(by_rows)
        .Add<std::int32_t>(by_columns)
        .Add<std::uint8_t>(1)
        .Pointers(1)
        .BytesPerElement();
  };
  EXPECT_DOUBLE_EQ(bytes(1, 1), 2 + 2 * (1 + 1.0 / 32));
  EXPECT_DOUBLE_EQ(bytes(1, 0), 2 + 1 + 1.0 / 32);
  EXPECT_DOUBLE_EQ(bytes(0, 2), 2 + 1 + 1.0 / 32);
}

TEST(TransformerEngineQuantizeTest, SquareBlocksMayHaveATranspose) {
  const auto bytes = [](const std::string& transpose) {
    return Quantizer(
               "_ZN18transformer_engine71_GLOBAL__N__0981d932_38_quantize_transpose_square_"
               "blockwise_cu_108e784934block_scaled_cast_transpose_kernelILb" +
               transpose +
               "Ef13__nv_bfloat1613__nv_fp8_e4m3EEvPKT1_PT2_S8_PT0_SA_mmmmmmf14CUtensorMap_stbPKf")
        .Pointers(5)
        .Sizes<std::uint64_t>()
        .Sizes<std::uint64_t>()
        .Sizes<std::uint64_t>()
        .Add<float>(1e-9F)
        .Maps(1)
        .Add<std::uint8_t>(1)
        .Pointers(1)
        .BytesPerElement();
  };
  EXPECT_DOUBLE_EQ(bytes("1"), 4);
  EXPECT_DOUBLE_EQ(bytes("0"), 3);
}

TEST(TransformerEngineQuantizeTest, Mxfp8WritesByRowsAndByColumns) {
  const auto bytes = [](const std::string& ways, const std::string& activation_gradient) {
    return Quantizer(
               "_ZN18transformer_engine8dispatch5mxfp815quantize_kernel21quantize_mxfp8_kernelI"
               "Lb1ELb" +
               activation_gradient + "ELb0ENS_5EmptyELPFffRKS4_E0E13__nv_bfloat1613__nv_fp8_e4m3" +
               ways + "Lb0ELm128ELm128ELm128ELb0EEEv14CUtensorMap_stSB_SB_SB_PhSC_PKfPfSF_mmmm")
        .Maps(4)
        .Pointers(5)
        .Sizes<std::uint64_t>()
        .Sizes<std::uint64_t>()
        .BytesPerElement();
  };
  EXPECT_DOUBLE_EQ(bytes("Lb1ELb1E", "0"), 2 + 2 * (1 + 1.0 / 32));
  EXPECT_DOUBLE_EQ(bytes("Lb1ELb0E", "0"), 2 + 1 + 1.0 / 32);
  EXPECT_DOUBLE_EQ(bytes("Lb0ELb1E", "1"), 4 + 1 + 1.0 / 32);
}

TEST(TransformerEngineQuantizeTest, PlainCastsToMxfp8) {
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch5mxfp815quantize_kernel11specialized31quantize_"
                "mxfp8_kernel_cast_onlyINS3_17CastTraitsSwizzleI13__nv_bfloat1613__nv_fp8_e4m3Li2E"
                "Li1ELi4ELb0ELb0EEELi0ELi0EEEv14CUtensorMap_stS9_S9_PhSA_PKfiiii")
          .Maps(3)
          .Pointers(3)
          .Sizes<std::int32_t>()
          .Sizes<std::int32_t>()
          .BytesPerElement(),
      2 + 2 * (1 + 1.0 / 32));
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch5mxfp815quantize_kernel11specialized31quantize_"
                "mxfp8_kernel_cast_onlyINS3_10CastTraitsIf13__nv_fp8_e4m3Lb1ELb0ELb0EEELi0EEEvPNT_"
                "5ITypeEPNS8_5OTypeEPhPKfiiii")
          .Pointers(4)
          .Sizes<std::int32_t>()
          .Sizes<std::int32_t>()
          .BytesPerElement(),
      4 + 1 + 1.0 / 32);
}

TEST(TransformerEngineQuantizeTest, GatesReadTwoMatricesAndTheirGradientsThree) {
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch5mxfp812gated_kernel27quantize_gated_mxfp8_"
                "kernelILb1ENS_5EmptyEXadL_ZNS_4siluIffEET_T0_RKS4_EEXadL_ZNS_5dsiluIffEES6_S7_S9_"
                "EE13__nv_bfloat1613__nv_fp8_e5m2Lb1ELb1ELb0ELm64EEEv14CUtensorMap_stSD_SD_SD_SD_"
                "SD_SD_PhSE_mmmmS7_")
          .Maps(7)
          .Pointers(2)
          .Sizes<std::uint64_t>()
          .Sizes<std::uint64_t>()
          .Add<std::uint8_t>(0)
          .BytesPerElement(),
      3 * 2 + 2 * 2 * (1 + 1.0 / 32));
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch3fp86kernel21cast_fp8_gated_kernelILb1ENS_5EmptyEX"
                "adL_ZNS_4siluIffEET_T0_RKS4_EEXadL_ZNS_5dsiluIffEES6_S7_S9_EE13__nv_bfloat16SB_"
                "EEv14CUtensorMap_stSC_SC_SC_SC_PfSD_PKfmmS7_")
          .Maps(5)
          .Pointers(3)
          .Sizes<std::uint64_t>()
          .Add<std::uint8_t>(0)
          .BytesPerElement(),
      3 * 2 + 2 * 2);
}

TEST(TransformerEngineQuantizeTest, CastsToFp8) {
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch3fp818quantize_2D_kernel18cast_fp8_2D_kernelI"
                "Lb0ELb1ENS_5EmptyEXadL_ZNS_5dgeluIffEET_T0_RKS4_EEf13__nv_fp8_e4m3EEv14CUtensor"
                "Map_stSB_SB_PfSC_SC_PKfmm")
          .Maps(3)
          .Pointers(4)
          .Sizes<std::uint64_t>()
          .BytesPerElement(),
      2 * 4 + 1);
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch3fp818quantize_1D_kernel18cast_fp8_1D_kernelI"
                "Lb0ENS_5EmptyELPFffRKS4_E0Ef13__nv_fp8_e4m3EEvPKT2_PT3_PfSF_PKfmSH_")
          .Pointers(5)
          .Add<std::uint64_t>(static_cast<std::uint64_t>(kElements))
          .Pointers(1)
          .BytesPerElement(),
      4 + 1);
}

TEST(TransformerEngineQuantizeTest, FourBitsWithHadamardTransforms) {
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch5nvfp425quantize_transpose_kernel34quantize_"
                "transpose_nvfp4_2D_kernelILb0ENS_5EmptyELPFffRKS4_E0E13__nv_bfloat16Lb0ELb1ELb1E"
                "Lb1EEEv14CUtensorMap_stSA_SA_P13__nv_fp8_e4m3SC_PKfSE_SE_mmmmPKm")
          .Maps(3)
          .Pointers(5)
          .Sizes<std::uint64_t>()
          .Sizes<std::uint64_t>()
          .Pointers(1)
          .BytesPerElement(),
      2 + 2 * (0.5 + 1.0 / 16));
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine54_GLOBAL__N__5f89b7bc_21_hadamard_transform_cu_748ca6b521"
                "HadamardAmaxTmaKernelI13__nv_bfloat16Li16ELi128ELi128ELi64ELi64ELi128ELi1ELb1ELb0"
                "ELb1EEEv14CUtensorMap_stPfS4_S4_ttmm")
          .Maps(1)
          .Pointers(3)
          .Add<std::uint16_t>(1)
          .Add<std::uint16_t>(1)
          .Sizes<std::uint64_t>()
          .BytesPerElement(),
      2);
  // Its whole name, of template layouts, is longer than the demangler of some machines takes.
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine6detail79_GLOBAL__N__fc0f6850_46_row_cast_col_hadamard_"
                "transform_cast_fusion_cu_4cd22a8023row_col_rht_gemm_deviceIiiiN4cute5tuple")
          .Sizes<std::int32_t>()
          .Add<std::int32_t>(1024)
          .Pointers(2)
          .BytesPerElement(),
      2 + 2 * (0.5 + 1.0 / 16));
}

TEST(TransformerEngineQuantizeTest, BackToWiderTypes) {
  EXPECT_DOUBLE_EQ(
      Quantizer("_ZN18transformer_engine8dispatch5mxfp817dequantize_kernel23dequantize_mxfp8_"
                "kernelI13__nv_fp8_e4m3fLm1ELm1ELb0EEEv14CUtensorMap_stS5_PKhmmmm")
          .Maps(2)
          .Pointers(1)
          .Sizes<std::uint64_t>()
          .Sizes<std::uint64_t>()
          .BytesPerElement(),
      1 + 1.0 / 32 + 4);
}

TEST(TransformerEngineQuantizeTest, ScalesAreReordered) {
  const Demand demand = Quantizer(
                            "_ZN18transformer_engine43_GLOBAL__N__3b450ff8_10_swizzle_cu_"
                            "2a895db426swizzle_row_scaling_kernelIiLi128ELi4EEEvPKvPviiii")
                            .Pointers(2)
                            .Sizes<std::int32_t>()
                            .Sizes<std::int32_t>()
                            .Get();
  EXPECT_EQ(demand.family, Family::kCopy);
  EXPECT_DOUBLE_EQ(demand.bytes, 2 * kElements);
}

TEST(TransformerEngineQuantizeTest, WithoutSizesTheyAreAssumed) {
  const KernelLaunch launch =
      LaunchBuilder(
          "_ZN18transformer_engine51_GLOBAL__N__95d1fbd5_18_current_scaling_cu_6a676ec611amax_"
          "kernelILi16ELb1E13__nv_bfloat16EEvPKT1_PfmmPKf")
          .Grid(8)
          .Block(256)
          .Pointers(1)
          .Build();
  EXPECT_EQ(Recognise(launch, ParseKernelName(launch.name)).evidence, Evidence::kGuess);
}

}  // namespace
}  // namespace eidolon::timing::kernel
