// No times are published of the kernels that PyTorch calls for these types, so several other
// stacks' kernels stand for them. Their mean is geometric, because times compare by ratios; how far
// they lie apart goes into the error. Rows of this very GPU are never mixed with those of another
// one.
#include "services/timing/model/block_scaled_gemms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "services/timing/model/kernel_class.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_kernels.h"

namespace eidolon::timing::model {
namespace {

constexpr std::string_view kNvfp4 = "nvfp4";
constexpr std::string_view kFp8Block = "fp8_block";

struct BlockScaledKernel {
  std::string_view type;
  const char* name;
  bool on_90 = true;
};

// Kernels of serving stacks, the newest version of each. PyTorch calls cuBLASLt, whose times are
// not published; TensorRT-LLM chooses among its kernels and others. SGLang's rows of Hopper
// are left out: small GEMMs take twice as long as in its older version and in all other stacks
// (1024 x 4096 x 4096 on H100: 92.8 us against 39 to 45).
constexpr std::array<BlockScaledKernel, 8> kBlockScaledKernels = {
    {{kNvfp4, "sglang-0.5.14:sglang_flashinfer_cutedsl_nvfp4"},
     {kNvfp4, "sglang-0.5.14:sglang_flashinfer_cutlass_nvfp4"},
     {kNvfp4, "trtllm-1.3.0rc20:torch_flow"},
     {kNvfp4, "vllm-0.24.0:FlashInferCuteDslNvFp4LinearKernel"},
     {kNvfp4, "vllm-0.24.0:FlashInferCutlassNvFp4LinearKernel"},
     {kFp8Block, "sglang-0.5.14:sglang_deepgemm_gemm_nt_f8f8bf16", false},
     {kFp8Block, "trtllm-1.3.0rc20:deepgemm"},
     {kFp8Block, "trtllm-1.3.0rc20:torch_flow"}}};

// Returns the bytes of x in 16 bits, and of what it becomes, scales included: written by one
// kernel, read by the next.
double QuantisedBytes(std::string_view type, double m, double k) {
  const double narrow = type == kNvfp4 ? 0.5 + 1.0 / 16 : 1 + 4.0 / 128;
  return m * k * (2 + narrow);
}

struct MeanOfLogs {
  double sum = 0, squares = 0, errors = 0;
  double count = 0;

  void Add(double seconds, double relative_error) {
    const double log = std::log(seconds);
    sum += log;
    squares += log * log;
    errors += relative_error;
    count += 1;
  }
  double Mean() const { return sum / count; }
  double Deviation() const { return std::sqrt(std::max(0.0, squares / count - Mean() * Mean())); }
};

}  // namespace

std::string_view BlockScaledType(const kernel::Gemm& gemm) {
  // 1 + cublasLtMatmulMatrixScale_t.
  constexpr std::uint32_t kVec16Ue4m3 = 2, kVec128Fp32 = 5, kBlock128x128Fp32 = 6;
  if (gemm.scale_mode == kVec16Ue4m3) return kNvfp4;
  if (gemm.scale_mode == kVec128Fp32 || gemm.scale_mode == kBlock128x128Fp32) return kFp8Block;
  return {};
}

std::optional<Prediction> PredictBlockScaledGemm(const gpu_model::GpuModel& gpu,
                                                 std::string_view type, double m, double n,
                                                 double k) {
  KernelClass kernel;
  kernel.phase = KernelClass::Phase::kGemm;
  kernel.type = type;
  const std::array<double, 3> sizes = {m, n, k};
  MeanOfLogs own, alike;
  bool inside = true;
  for (const BlockScaledKernel& one : kBlockScaledKernels) {
    if (one.type != type || (!one.on_90 && gpu.compute_major == 9)) continue;
    kernel.kernel = one.name;
    const auto found = PublishedKernels::Get().Read(gpu, kernel, sizes);
    if (!found) continue;
    const bool is_own = found->gpu == gpu.name;
    (is_own ? own : alike).Add(found->time.seconds, found->time.relative_error);
    if (is_own) inside = inside && found->time.inside;
  }
  const MeanOfLogs& mean = own.count > 0 ? own : alike;
  if (mean.count == 0) return std::nullopt;
  const double whole = std::exp(mean.Mean());
  const double quantised = MemorySeconds(gpu, QuantisedBytes(type, m, k), 1);
  Prediction prediction;
  prediction.seconds = std::max(whole - quantised, whole / 2);
  prediction.relative_error = std::hypot(mean.errors / mean.count, mean.Deviation());
  if (own.count > 0 && inside) prediction.source = estimate::Source::kInterpolated;
  return prediction;
}

}  // namespace eidolon::timing::model
