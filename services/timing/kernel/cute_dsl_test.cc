// Kernels that NVIDIA's CuTe DSL has compiled: their parameters are laid out anew for each of them.
#include <gtest/gtest.h>

#include <array>

#include "services/timing/kernel/launch_test.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

TEST(CuteDslTest, NothingIsGuessedOfWhatCuteDslLaysOut) {
  // Its parameters begin with sizes that would make a small GEMM.
  const auto recognised = [](const char* name) {
    const auto launch = LaunchBuilder(name)
                            .Grid(1024)
                            .Block(384)
                            .Add(std::array<std::int32_t, 4>{128, 256, 256, 1})
                            .Build();
    return Recognise(launch, ParseKernelName(name));
  };
  const Demand forward = recognised(
      "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm90FlashAttentionForwardSm90_object_at__"
      "tensor0000o11101213_0");
  const Demand backward = recognised(
      "kernel_cutlass_kernel_flash_attncuteflash_bwd_sm90FlashAttentionBackwardSm90_object_at__0");
  const Demand topk = recognised(
      "kernel_cutlass_kernel_torch_nativeopstopkcutedsl_kernels_RadixSelectTopK_object_at__0");
  const Demand other = recognised("kernel_cutlass_gemm_object_at__tensorptrbf16gmem_0");

  EXPECT_EQ(forward.family, Family::kAttentionForward);
  EXPECT_EQ(backward.family, Family::kAttentionBackward);
  EXPECT_EQ(topk.family, Family::kSort);
  EXPECT_EQ(other.family, Family::kUnknown);
  for (const Demand& demand : {forward, backward, topk, other}) {
    EXPECT_EQ(demand.evidence, Evidence::kGuess);
  }
}

}  // namespace
}  // namespace eidolon::timing::kernel
