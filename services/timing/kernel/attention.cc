// Attention kernels compiled into PyTorch: FlashAttention 2 (pytorch_flash::) and the
// memory-efficient CUTLASS kernels (fmha_cutlass*), and CUTLASS GEMMs. Sizes come from
// the parameter structs, found by what the grid says they must hold, so that a moved field is
// noticed and not misread.
#include <algorithm>
#include <cctype>

#include "services/contract/torch_layout/attention.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

using torch_layout::FlashSizes;

struct Shape {
  double batch = 0;
  double heads = 0;
  double queries = 0;
  double keys = 0;
  double head_size = 0;
  double heads_each = 1;  // Heads that share keys and values.
  bool causal = false;
};

Demand Attention(Family family, const Shape& shape, bool causal, Evidence evidence) {
  Demand demand;
  demand.family = family;
  demand.evidence = evidence;
  demand.unit = Unit::kTensorCore;
  demand.type = "bf16";
  demand.query_length = shape.queries;
  demand.key_length = shape.keys;
  demand.head_size = shape.head_size;
  demand.batch_heads = shape.batch * shape.heads;
  demand.batch = shape.batch;
  demand.heads_each = shape.heads_each;
  demand.causal = causal;
  const bool backward = family == Family::kAttentionBackward;
  // Forward: two GEMMs of queries x keys x head size. Backward: five (FlashAttention-2 paper).
  demand.flops =
      (backward ? 10 : 4) * shape.queries * shape.keys * shape.head_size * demand.batch_heads;
  const double rows =
      shape.queries * (backward ? 6 : 2) + shape.keys * (backward ? 4 : 2) / shape.heads_each;
  demand.bytes = rows * shape.head_size * 2 * demand.batch_heads;
  return demand;
}

int Number(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0 || value > 100000) return 0;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Numbers of Flash_*_kernel_traits<head size, block of queries, block of keys, ...>.
struct Traits {
  int head_size = 0;
  int block_queries = 0;
  int block_keys = 0;
};

std::optional<Traits> FlashTraits(const Launch& l) {
  auto arguments = SplitTopLevel(TemplateArguments(l.name.full, "Flash_fwd_kernel_traits"));
  if (arguments.empty()) {
    arguments = SplitTopLevel(TemplateArguments(l.name.full, "Flash_bwd_kernel_traits"));
  }
  if (arguments.size() < 3) return std::nullopt;
  const Traits traits{Number(arguments[0]), Number(arguments[1]), Number(arguments[2])};
  if (traits.head_size <= 0 || traits.block_queries <= 0 || traits.block_keys <= 0) {
    return std::nullopt;
  }
  return traits;
}

bool Tiles(std::int64_t size, std::uint32_t blocks, int block) {
  return size > 0 && (size + block - 1) / block == blocks;
}

// Sequences and heads of a launch's grid. Queries lie along x, sequences along y and heads along z;
// when keys are in parts, y counts the parts and z sequences times heads.
struct GridHeads {
  double batch = 0;
  double heads = 0;
};

std::optional<GridHeads> HeadsOf(const Launch& l, std::int32_t batch, bool in_parts) {
  const auto& grid = l.launch.grid;
  if (batch <= 0) return std::nullopt;
  if (!in_parts) {
    if (batch != static_cast<std::int32_t>(grid.y)) return std::nullopt;
    return GridHeads{static_cast<double>(grid.y), static_cast<double>(grid.z)};
  }
  if (grid.z % static_cast<std::uint32_t>(batch) != 0) return std::nullopt;
  const std::uint32_t heads = grid.z / static_cast<std::uint32_t>(batch);
  const auto known = l.parameters.At<std::int32_t>(torch_layout::FlashHeads::kHeads).value_or(0);
  if (known > 0 && known != static_cast<std::int32_t>(heads)) return std::nullopt;
  return GridHeads{static_cast<double>(batch), static_cast<double>(heads)};
}

// A kernel for one head size does not read it, and it then stands as 0.
std::optional<Shape> FlashShape(const Launch& l, const Traits& traits, bool by_keys,
                                bool in_parts) {
  const auto& grid = l.launch.grid;
  const std::size_t end = std::min(l.parameters.size(), FlashSizes::kEnd);
  for (std::size_t at = FlashSizes::kEarliest; at + FlashSizes::kBytes <= end; at += 4) {
    const auto word = [&](std::size_t i) {
      return l.parameters.At<std::int32_t>(at + 4 * i).value_or(0);
    };
    const auto heads = HeadsOf(l, word(FlashSizes::kBatch), in_parts);
    if (!heads || word(FlashSizes::kKeys) <= 0) continue;
    const bool unread = word(FlashSizes::kHeadSize) == 0 && word(FlashSizes::kNewKeys) == 0;
    if (!unread &&
        (word(FlashSizes::kHeadSize) <= 0 || word(FlashSizes::kHeadSize) > traits.head_size))
      continue;
    const bool fits = by_keys ? Tiles(word(FlashSizes::kKeys), grid.x, traits.block_keys) &&
                                    word(FlashSizes::kQueries) > 0
                              : Tiles(word(FlashSizes::kQueries), grid.x, traits.block_queries);
    if (!fits) continue;
    const std::int32_t group =
        l.parameters.At<std::int32_t>(torch_layout::FlashHeads::kGroup).value_or(0);
    return Shape{heads->batch,
                 heads->heads,
                 static_cast<double>(word(FlashSizes::kQueries)),
                 static_cast<double>(word(FlashSizes::kKeys)),
                 static_cast<double>(unread ? traits.head_size : word(FlashSizes::kHeadSize)),
                 group > 0 && group <= heads->heads ? static_cast<double>(group) : 1};
  }
  return std::nullopt;
}

Shape GridShape(const Launch& l, const Traits& traits, bool by_keys) {
  const double length =
      static_cast<double>(l.launch.grid.x) * (by_keys ? traits.block_keys : traits.block_queries);
  return {static_cast<double>(l.launch.grid.y), static_cast<double>(l.launch.grid.z), length,
          length, static_cast<double>(traits.head_size)};
}

// grid.y heads, grid.z batches.
std::optional<Shape> EfficientShape(const Launch& l, bool backward) {
  using Sizes = torch_layout::MemoryEfficientSizes;
  const auto& grid = l.launch.grid;
  const std::size_t end = std::min(l.parameters.size(), Sizes::kEnd);
  for (std::size_t at = Sizes::kEarliest; at + Sizes::kBytes <= end; at += 4) {
    const auto word = [&](std::size_t i) {
      return l.parameters.At<std::int32_t>(at + 4 * i).value_or(0);
    };
    const auto is_causal = [&](std::size_t begin) {
      const auto mask = l.parameters.At<std::uint8_t>(begin + 4 * Sizes::kMask).value_or(0);
      return mask == 1 || mask == 2;
    };
    const bool sane = word(Sizes::kHeadSize) >= 4 && word(Sizes::kHeadSize) <= 1024 &&
                      word(Sizes::kValueHeadSize) >= 4 && word(Sizes::kValueHeadSize) <= 1024 &&
                      word(Sizes::kQueries) > 0 && word(Sizes::kKeys) > 0;
    if (!sane) continue;
    const bool fits = backward ? word(Sizes::kBackwardHeads) == static_cast<std::int32_t>(grid.y)
                               : Tiles(word(Sizes::kQueries), grid.x, 32) ||
                                     Tiles(word(Sizes::kQueries), grid.x, 64) ||
                                     Tiles(word(Sizes::kQueries), grid.x, 128);
    if (!fits) continue;
    return Shape{static_cast<double>(grid.z),
                 static_cast<double>(grid.y),
                 static_cast<double>(word(Sizes::kQueries)),
                 static_cast<double>(word(Sizes::kKeys)),
                 static_cast<double>(word(Sizes::kHeadSize)),
                 1,
                 is_causal(at)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Demand> FlashForward(const Launch& l) {
  const auto traits = FlashTraits(l);
  if (!traits) return std::nullopt;
  // flash_fwd_splitkv_kernel<traits, causal, local, alibi, even MN, even K, softcap, split,
  // append>: the one for pages of keys does not always split them.
  constexpr std::size_t kInParts = 7;
  const bool split = l.name.Has("splitkv");
  const bool in_parts = split && l.Template(kInParts) == "true";
  const auto shape = FlashShape(l, *traits, false, in_parts);
  Demand demand = Attention(Family::kAttentionForward, shape.value_or(GridShape(l, *traits, false)),
                            l.Template(split ? 1 : 2) == "true",
                            shape ? Evidence::kParameters : Evidence::kGrid);
  // One that looks at neighbours only is another kernel; how far it looks is not known here.
  demand.split_keys = split && shape && l.Template(2) != "true";
  if (in_parts) demand.key_parts = static_cast<double>(l.launch.grid.y);
  return demand;
}

// flash_fwd_splitkv_combine_kernel<traits, rows of a block, logarithm of the parts, even K>.
std::optional<Demand> FlashCombine(const Launch& l) {
  const auto traits = FlashTraits(l);
  const int rows = Number(l.Template(1));
  const int log_parts = Number(l.Template(2));
  if (!traits || rows <= 0 || log_parts <= 0 || log_parts > 7) return std::nullopt;
  Demand demand;
  demand.family = Family::kAttentionForward;
  demand.evidence = Evidence::kGrid;
  // The number lies between half the parts that it has room for and all.
  const double parts = 0.75 * static_cast<double>(1 << log_parts);
  demand.bytes =
      CombinedBytes(static_cast<double>(l.launch.grid.Count()) * rows * traits->head_size, parts);
  return demand;
}

std::optional<Demand> FlashBackward(const Launch& l) {
  const auto traits = FlashTraits(l);
  if (!traits) return std::nullopt;
  const auto shape = FlashShape(l, *traits, true, false);
  return Attention(Family::kAttentionBackward, shape.value_or(GridShape(l, *traits, true)),
                   l.Template(2) == "true", shape ? Evidence::kParameters : Evidence::kGrid);
}

// flash_bwd_dot_do_o_kernel and flash_bwd_convert_dq_kernel: row-wise work around the backward
// pass.
std::optional<Demand> FlashPointwise(const Launch& l) {
  const auto traits = FlashTraits(l);
  if (!traits) return std::nullopt;
  Demand demand;
  demand.family = Family::kAttentionBackward;
  demand.evidence = Evidence::kGrid;
  const double rows = static_cast<double>(l.launch.grid.Count()) * traits->block_queries;
  demand.bytes = rows * traits->head_size * (l.name.Has("convert") ? 6 : 8);
  return demand;
}

namespace {

// fmha_cutlassF_f32_aligned_64x64_rf_sm80: the type is in the name.
std::optional<Demand> MemoryEfficient(const Launch& l, Family family) {
  const auto shape = EfficientShape(l, family == Family::kAttentionBackward);
  if (!shape) return std::nullopt;
  Demand demand = Attention(family, *shape, shape->causal, Evidence::kParameters);
  if (l.name.Has("_f32_")) {
    demand.type = "fp32";
    demand.bytes *= 2;
  }
  return demand;
}

}  // namespace

std::optional<Demand> MemoryEfficientForward(const Launch& l) {
  return MemoryEfficient(l, Family::kAttentionForward);
}

std::optional<Demand> MemoryEfficientBackward(const Launch& l) {
  return MemoryEfficient(l, Family::kAttentionBackward);
}

// cutlass::Kernel*<...Gemm...>(Params), cutlass::device_kernel<GemmUniversal...>: the problem's m,
// n, k stand first.
std::optional<Demand> CutlassGemm(const Launch& l) {
  const auto slot = l.parameters.Slot(0);
  if (!slot) return std::nullopt;
  for (std::size_t at = slot->offset; at + 12 <= l.parameters.size() && at <= 64; at += 4) {
    const double m = l.parameters.At<std::int32_t>(at).value_or(0);
    const double n = l.parameters.At<std::int32_t>(at + 4).value_or(0);
    const double k = l.parameters.At<std::int32_t>(at + 8).value_or(0);
    if (m < 1 || n < 1 || k < 1 || m > 1e7 || n > 1e7 || k > 1e7) continue;
    const bool fp8 = l.name.Has("float_e4m3") || l.name.Has("FP8") || l.name.Has("float_e5m2");
    Demand demand;
    demand.family = Family::kGemm;
    demand.evidence = Evidence::kGrid;
    demand.unit = Unit::kTensorCore;
    demand.type = fp8 ? "fp8" : "bf16";
    demand.flops = 2 * m * n * k;
    demand.bytes = (m * k + k * n) * (fp8 ? 1 : 2) + m * n * 2;
    return demand;
  }
  return std::nullopt;
}

}  // namespace eidolon::timing::kernel
