// Kernels that torch.compile generates: triton_<kind>_fused_<operations>_<number>. Parameters are
// pointers, then sizes ("xnumel", "r0_numel"), then two scratch pointers of Triton. The types
// behind the pointers are not known here.
#include <algorithm>
#include <cmath>
#include <vector>

#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

// Mixed-precision training reads and writes bf16 with some fp32 between: bytes of an average
// element.
constexpr double kElementBytes = 2.5;

// Casts to float8 read two bytes an element and write one, in one layout or two.
constexpr double kFloat8CastBytes = 1.5;

// Scaling by the inverse of a maximum, saturating, converting: what torchao's float8 linear layers
// become (their kernels: ..._to_copy_..._clamp_..._mul_reciprocal_...).
bool CastsToFloat8(const KernelName& name) {
  return name.Has("_to_copy") && name.Has("_clamp_") && name.Has("_reciprocal");
}

std::vector<double> Sizes(const Launch& l) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    if (l.parameters.Slot(i)->bytes != 4) continue;
    if (const auto size = l.Size(i)) sizes.push_back(*size);
  }
  return sizes;
}

double Operations(std::string_view name) {
  double count = 0;
  for (const char c : name) count += c == '_' ? 1 : 0;
  return std::max(4.0, count * 3);
}

}  // namespace

namespace {

// Flex attention's templates: sizes are compile-time constants, so they come from the launch, by
// PyTorch's configurations for Hopper (torch/_inductor/heuristics/template/triton.py): 4 warps for
// heads up to 64, 8 up to 128; blocks of 128 rows, of 64 in a backward pass of 4 warps. Forward
// grid: query blocks, batch, heads; backward: query blocks of all heads that share keys, and key
// blocks, batch, key heads. How many heads share keys is not known: as few as make the length a
// power of two, else one. A mask that halves the work is taken for granted.
double HeadsThatShareKeys(double blocks) {
  constexpr double kMost = 16;
  for (double heads = 1; heads <= kMost; ++heads) {
    const double length = blocks / (heads + 1);
    if (length >= 1 && std::exp2(std::round(std::log2(length))) == length) return heads;
  }
  return 1;
}

Demand FlexAttention(const Launch& l) {
  const bool backward = l.name.Has("flex_attention_backward");
  const double rows = backward && l.launch.block.x <= 128 ? 64 : 128;
  const auto& grid = l.launch.grid;
  Demand demand;
  demand.family = backward ? Family::kAttentionBackward : Family::kAttentionForward;
  demand.evidence = Evidence::kGrid;
  demand.unit = Unit::kTensorCore;
  demand.type = "bf16";
  demand.head_size = l.launch.block.x > 128 ? 128 : 64;
  const double heads = backward ? HeadsThatShareKeys(grid.x) : 1;
  demand.query_length = grid.x * rows / (backward ? heads + 1 : 1);
  demand.key_length = demand.query_length;
  demand.batch_heads = heads * grid.y * grid.z;
  demand.causal = true;
  demand.flops = (backward ? 10 : 4) * demand.query_length * demand.key_length * demand.head_size *
                 demand.batch_heads;
  demand.bytes =
      (backward ? 10 : 4) * demand.query_length * demand.head_size * 2 * demand.batch_heads;
  return demand;
}

}  // namespace

std::optional<Demand> TritonInductor(const Launch& l) {
  const std::vector<double> sizes = Sizes(l);
  const double pointers = l.parameters.PointerCount();
  const std::string_view name = l.name.full;
  Demand demand;
  demand.family = Family::kTriton;
  demand.evidence = Evidence::kGrid;
  demand.efficiency = 0.85;
  // The template itself, under its final name or as a candidate that is being timed; the reductions
  // beside it carry its name too.
  const bool is_template = name.starts_with("triton_tem_");
  const bool is_candidate = name.starts_with("triton_flex_attention");
  if (is_candidate || (is_template && l.name.Has("flex_attention"))) return FlexAttention(l);
  if (is_template) {
    // A template GEMM: its sizes are compile-time constants. Tiles of 128 x 128, unknown depth.
    demand.family = Family::kGemm;
    demand.evidence = Evidence::kGuess;
    demand.unit = Unit::kTensorCore;
    demand.type = "bf16";
    demand.flops = static_cast<double>(l.launch.grid.Count()) * 2 * 128 * 128 * 4096;
    demand.bytes = static_cast<double>(l.launch.grid.Count()) * 128 * 128 * 4;
    return demand;
  }
  if (sizes.empty() || pointers < 1) return std::nullopt;
  // The last two sizes are a product (y x, or x r) when the grid has threads for it.
  const double last = sizes.back();
  const double before = sizes.size() > 1 ? sizes[sizes.size() - 2] : 1;
  const bool reduction = name.starts_with("triton_red_") || name.starts_with("triton_per_") ||
                         name.starts_with("triton_mix_");
  const bool tiled = reduction || (before > 1 && last * before <= l.threads() * 64);
  const double elements = tiled ? last * before : last;
  double element_bytes = kElementBytes;
  double vectors = 0;  // Pointers to a row, a column or a single number.
  if (reduction) {
    vectors = 2;
  } else if (CastsToFloat8(l.name)) {
    // The scale, and a normalisation's statistic and weight.
    vectors = l.name.Has("rms_norm") && pointers > 4 ? 3 : 1;
    element_bytes = kFloat8CastBytes;
  }
  demand.bytes = elements * std::max(1.0, pointers - vectors) * element_bytes;
  demand.flops = elements * Operations(name);
  return demand;
}

}  // namespace eidolon::timing::kernel
