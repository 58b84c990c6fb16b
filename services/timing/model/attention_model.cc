// Attention kernels reach a share of the tensor cores' rate that depends mainly on the
// implementation, the head size, the mask and the length. So published rates of one GPU become
// curves, and another GPU's follow by its BF16 rate and a factor for the architecture that a
// library was made for. Around that stand the losses of whole tiles: blocks of queries and keys
// that are not full take as long as full ones, and the last wave of blocks leaves multiprocessors
// idle. Decoding is different, bound by reading keys and values, and comes from rows of serving
// stacks where there are any.
#include "services/timing/model/attention_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/contract/machine/machine.h"
#include "services/timing/model/attention_curve.h"
#include "services/timing/model/memory_model.h"
#include "services/timing/model/published_kernels.h"
#include "services/timing/model/reference_gpus.h"

namespace eidolon::timing::model {
namespace {

// A curve, and the rate in BF16 of the GPU that it is of.
struct GpuCurve {
  AttentionCurve curve;
  double gpu_rate = 0;
};
// By implementation, head size, causal.
using CurveKey = std::tuple<std::string, int, bool>;
using Curves = std::map<CurveKey, GpuCurve>;

const Curves& Published() {
  static const Curves curves = [] {
    std::map<CurveKey, std::pair<std::vector<AttentionPoint>, double>> points;
    for (const PublishedAttention& row : PublishedAttentionRates()) {
      auto& [list, gpu_rate] = points[{row.implementation, row.head_size, row.causal}];
      list.push_back(row.point);
      gpu_rate = Rate(BuiltInGpu(row.gpu), "bf16");
    }
    Curves result;
    for (auto& [key, of] : points) {
      result.emplace(key, GpuCurve{AttentionCurve(std::move(of.first)), of.second});
    }
    return result;
  }();
  return curves;
}

// The measured curve nearest in head size; of the other mask when this one was not measured.
// `also`: another implementation whose curves stand beside, or none.
const GpuCurve& Nearest(const std::string& implementation, const std::string& also,
                        double head_size, bool causal) {
  const GpuCurve* best = nullptr;
  double best_distance = 0;
  for (const auto& [key, curve] : Published()) {
    if (std::get<0>(key) != implementation && std::get<0>(key) != also) continue;
    double distance = std::abs(std::log2(head_size / std::get<1>(key)));
    if (std::get<2>(key) != causal) distance += 0.5;
    if (best == nullptr || distance < best_distance) {
      best = &curve;
      best_distance = distance;
    }
  }
  CHECK(best != nullptr);
  return *best;
}

// Backward over forward rate: FlashAttention-3 paper, figures of the backward pass on H100; of
// cuDNN 9.19's own kernels, attention of 4096 and 16384 tokens measured on one (e2e/measured/h100).
double BackwardShare(AttentionLibrary library, double head) {
  constexpr double kNarrowHead = 64;
  if (library != AttentionLibrary::kCudnn) return 0.85;
  return head <= kNarrowHead ? 1.0 : 0.87;
}

// FlashAttention-2 was made for Ampere, where it reaches 225 of 312 TFLOP/s (FlashAttention-2
// paper), 0.83 of the sustained GEMM rate; on Hopper 370 of 794.
double ArchitectureGain(const gpu_model::GpuModel& gpu, AttentionLibrary library) {
  if (gpu.compute_major >= machine::kGroupMatrixMajor) return 1;
  return library == AttentionLibrary::kCudnn ? 1.1 : 1.75;
}

// Of FlashAttention 2's rate: CUTLASS's kernels of Ampere, attention of 2048 tokens on H100
// (e2e/measured/h100; other lengths are tests).
double MemoryEfficientShare(double head_size, bool backward) {
  constexpr double kNarrowHead = 64, kNarrow = 0.42, kWide = 0.5, kBackward = 0.93;
  return (head_size <= kNarrowHead ? kNarrow : kWide) * (backward ? kBackward : 1);
}

double RoundedUp(double size, double step) { return std::ceil(size / step) * step; }

// CUTLASS's kernels of single precision (fmha_cutlassF_f32, three GEMMs in TF32 each): tiles of
// 64 queries by 64 keys, heads of 64 or whole multiples of 128. Shares of the FP32 rate: of six
// attentions on H100, the others tests (e2e/measured/h100/convolutions.jsonl.gz).
double SinglePrecisionSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                              bool backward) {
  constexpr double kTile = 64, kHead = 64, kWideHead = 128;
  constexpr double kForward = 0.65, kWideForward = 0.92, kBackward = 0.69;
  const bool wide = demand.head_size > kHead;
  kernel::Demand whole = demand;
  whole.head_size = wide ? RoundedUp(demand.head_size, kWideHead) : kHead;
  whole.query_length = RoundedUp(demand.query_length, kTile);
  whole.key_length = RoundedUp(demand.key_length, kTile);
  const double share = backward ? kBackward : (wide ? kWideForward : kForward);
  // Forward a block has 64 queries, backward as many keys.
  const double blocks =
      demand.batch_heads * (backward ? whole.key_length : whole.query_length) / kTile;
  const double idle = std::max(1.0, gpu.multiprocessors / blocks);
  return AttentionFlops(whole) * idle / (share * Rate(gpu, "fp32"));
}

// Keys of FlashAttention 2's blocks, 128 for heads of up to 64, else 64.
double WholeKeys(const kernel::Demand& demand) {
  constexpr double kNarrowHead = 64, kNarrowKeys = 128, kKeys = 64;
  return RoundedUp(demand.key_length, demand.head_size <= kNarrowHead ? kNarrowKeys : kKeys);
}

// What FlashAttention 2 computes for lengths that fill no whole blocks, over what these lengths
// need: blocks of queries, 128 each, and of keys take as long when they are not full. Under a
// causal mask such kernels also mask two blocks of keys in each row instead of one, 6 to 14 % of
// the time by what their code counts to; left out, because time grows with length.
double InWholeBlocks(const kernel::Demand& demand) {
  constexpr double kQueries = 128;
  return RoundedUp(demand.query_length, kQueries) / demand.query_length * WholeKeys(demand) /
         demand.key_length;
}

// cuDNN's kernels for Hopper have these head sizes, as their names say; smaller heads are filled
// up.
double HeadOfKernel(double head_size) {
  for (const double size : {64.0, 128.0, 192.0, 256.0}) {
    if (head_size <= size) return size;
  }
  return head_size;
}

}  // namespace

double AttentionFlops(const kernel::Demand& demand) {
  const double queries = demand.query_length;
  const double keys = demand.key_length;
  double pairs = queries * keys;
  if (demand.causal) {
    // The last query sees all keys, each before it one less.
    const double rows = std::min(queries, keys);
    pairs = rows * keys - rows * (rows - 1) / 2;
  }
  const double gemms = demand.family == kernel::Family::kAttentionBackward ? 5 : 2;
  return 2 * gemms * pairs * demand.head_size * demand.batch_heads;
}

Prediction PredictAttention(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                            AttentionLibrary library) {
  CHECK(demand.query_length > 0 && demand.key_length > 0 && demand.head_size > 0 &&
        demand.batch_heads > 0);
  const bool backward = demand.family == kernel::Family::kAttentionBackward;
  const std::string table = library == AttentionLibrary::kCudnn ? "cuDNN" : "FA2";
  const double head =
      library == AttentionLibrary::kCudnn ? HeadOfKernel(demand.head_size) : demand.head_size;
  const bool is_flash = library == AttentionLibrary::kFlash2;
  // The others' shares and the backward pass's were chosen beside the paper's curves.
  const std::string also = is_flash && !backward ? "FA2 measured" : "";
  const auto& [curve, gpu_rate] = Nearest(table, also, head, demand.causal);
  double rate = curve.Rate(is_flash ? WholeKeys(demand) : demand.key_length) * Rate(gpu, "bf16") /
                gpu_rate * ArchitectureGain(gpu, library);
  if (backward) rate *= BackwardShare(library, head);
  if (library == AttentionLibrary::kMemoryEfficient) {
    rate *= MemoryEfficientShare(demand.head_size, backward);
  }
  double flops = demand.flops * head / demand.head_size;
  if (demand.causal)
    flops *= demand.key_length >= demand.query_length
                 ? 1 - 0.5 * demand.query_length / demand.key_length
                 : 0.5;
  // Blocks of 128 queries; a block that is not full takes as long.
  const double rows = std::ceil(demand.query_length / 128);
  flops *= is_flash ? InWholeBlocks(demand) : rows * 128 / demand.query_length;
  const double blocks = demand.batch_heads * rows;
  const double sms = gpu.multiprocessors;
  const double waves = std::ceil(blocks / sms) * sms / blocks;
  const bool single = library == AttentionLibrary::kMemoryEfficient && demand.type == "fp32";
  const double compute =
      single ? SinglePrecisionSeconds(gpu, demand, backward) : flops / rate * waves;
  const double memory = MemorySeconds(gpu, demand.bytes, 0.8);
  Prediction prediction;
  // Fill and drain of the software pipeline.
  prediction.seconds = gpu.kernel_floor.Seconds() + 2e-6 + std::max(compute, memory);
  prediction.relative_error = backward ? 0.15 : 0.08;
  if (gpu.compute_major != 9) prediction.relative_error += 0.1;
  if (library == AttentionLibrary::kMemoryEfficient) prediction.relative_error += 0.2;
  // Kernels with more masks: 559 queries on H100 and H200 take a third more.
  if (is_flash && InWholeBlocks(demand) > 1) prediction.relative_error += 0.15;
  return prediction;
}

namespace {

// Kernels whose rows stand for PyTorch's scaled_dot_product_attention. The first two are
// FlashAttention 2's, which it calls on A100, on the RTX parts and where a program asks for it.
// Elsewhere it calls cuDNN, whose times of decoding are not published. Kernels that move the same
// bytes stand for it: FlashAttention 3 with and without writing new keys, and TensorRT-LLM's.
constexpr std::size_t kFlash2Kernels = 2;
constexpr std::array<const char*, 6> kDecoders = {
    "vllm-0.14.0:vllm_flash_attn", "vllm-0.24.0:vllm_flash_attn_fa2",
    "vllm-0.19.0:vllm_flash_attn", "vllm-0.24.0:vllm_flash_attn_fa3",
    "sglang-0.5.14:trtllm_mha",    "vllm-0.24.0:vllm_flashinfer_trtllmdecode"};

// PyTorch and FlashAttention 2 give the heads that share keys as queries of one head, up to a block
// of them.
constexpr double kFewQueries = 32, kQueriesOfBlock = 64;

bool Decodes(const kernel::Demand& demand) {
  const bool few = demand.query_length < kFewQueries ||
                   (demand.split_keys && demand.query_length <= kQueriesOfBlock);
  return few && demand.query_length < demand.key_length;
}

// Reads, of the first `count` kernels, one with rows of this GPU; else one with rows of its
// architecture.
std::optional<PublishedKernels::Answer> ReadServed(const gpu_model::GpuModel& gpu,
                                                   KernelClass kernel,
                                                   std::span<const double> sizes,
                                                   std::size_t count) {
  std::optional<PublishedKernels::Answer> alike;
  for (std::size_t i = 0; i < count; ++i) {
    kernel.kernel = kDecoders[i];
    auto found = PublishedKernels::Get().Read(gpu, kernel, sizes);
    if (found && found->gpu == gpu.name) return found;
    if (found && !alike) alike = std::move(found);
  }
  return alike;
}

double CombineSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand) {
  kernel::Demand combine;
  combine.bytes = kernel::CombinedBytes(demand.batch_heads * demand.query_length * demand.head_size,
                                        demand.key_parts);
  return DemandSeconds(gpu, combine, {});
}

}  // namespace

// Never less than reading all keys and values once at the whole bandwidth.
std::optional<Prediction> PredictServedAttention(const gpu_model::GpuModel& gpu,
                                                 const kernel::Demand& demand) {
  if (demand.family != kernel::Family::kAttentionForward || demand.batch <= 0) return std::nullopt;
  const double heads = demand.batch_heads / demand.batch;
  KernelClass kernel = {.phase = KernelClass::Phase::kPrefill,
                        .kernel = {},
                        .type = "bf16",
                        .cache_type = "bf16",
                        .distribution = {},
                        .head_size = demand.head_size,
                        .window = 0};
  std::array<double, 4> sizes = {heads, heads / demand.heads_each, demand.batch, demand.key_length};
  const bool decodes = Decodes(demand);
  if (decodes) {
    kernel.phase = KernelClass::Phase::kDecode;
    sizes[0] *= demand.query_length;
    sizes[3] = std::max(1.0, demand.key_length - 1);
  } else if (!demand.split_keys || demand.query_length != demand.key_length || !demand.causal) {
    return std::nullopt;
  }
  const auto found = ReadServed(gpu, kernel, sizes, decodes ? kDecoders.size() : kFlash2Kernels);
  if (!found) return std::nullopt;
  Prediction prediction;
  // Rows hold the gap between two replays of a graph of one call, and the kernel that combines the
  // parts of keys, which a job launches itself.
  double others = gpu.launch_gap.Seconds();
  if (demand.key_parts > 1) others += CombineSeconds(gpu, demand) + gpu.launch_gap.Seconds();
  const double moved = 4 * sizes[1] * demand.batch * demand.key_length * demand.head_size /
                       static_cast<double>(gpu.memory_bytes_per_second);
  prediction.seconds = std::max(found->time.seconds - others, moved);
  prediction.relative_error = found->time.relative_error;
  if (found->time.inside && found->gpu == gpu.name) {
    prediction.source = estimate::Source::kInterpolated;
  }
  return prediction;
}

}  // namespace eidolon::timing::model
