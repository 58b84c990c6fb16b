// Kernels of NVIDIA's Transformer Engine 2.x, as libtransformer_engine.so holds them or builds them
// by NVRTC. Layouts: common/normalization/kernel_params.h, common/util/vectorized_pointwise.h and
// common/cast/transpose of its headers, which come with its source distribution.
#include <algorithm>
#include <string>
#include <vector>

#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/row_efficiency.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

Demand Passes(Family family, double elements, double bytes, double flops_each) {
  Demand demand;
  demand.family = family;
  demand.evidence = Evidence::kParameters;
  demand.bytes = bytes;
  demand.flops = elements * flops_each;
  return demand;
}

// What Kernel_traits<weight, input, output, compute, index, columns, ...> says; in those of the
// finalising kernels the columns stand first.
struct NormTraits {
  double weight = 2;
  double input = 2;
  double output = 2;
  double compute = 4;
  double columns = 0;  // 0: any number, which the parameters have.
};

// The number in "1024u"; 0 for other texts.
double SizeArgument(std::string_view text) {
  double number = 0;
  for (const char c : text.substr(0, 7)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + (c - '0');
  }
  return number;
}

NormTraits TraitsOf(const Launch& l) {
  const bool finalizes = l.name.Has("finalize");
  auto arguments = SplitTopLevel(
      TemplateArguments(l.name.full, finalizes ? "Kernel_traits_finalize" : "Kernel_traits"));
  if (arguments.size() < 6) return {};
  if (finalizes) std::rotate(arguments.begin(), arguments.begin() + 1, arguments.begin() + 6);
  const NormTraits otherwise;
  return {.weight = ElementBytes(arguments[0]).value_or(otherwise.weight),
          .input = ElementBytes(arguments[1]).value_or(otherwise.input),
          .output = ElementBytes(arguments[2]).value_or(otherwise.output),
          .compute = ElementBytes(arguments[3]).value_or(otherwise.compute),
          .columns = SizeArgument(arguments[5])};
}

// Elements of two size parameters; nothing unless both are there.
std::optional<double> Product(const Launch& l, std::size_t first) {
  const auto a = l.Size(first);
  const auto b = l.Size(first + 1);
  if (!a || !b) return std::nullopt;
  return *a * *b;
}

}  // namespace

// {ln,rmsnorm}_{fwd,bwd,bwd_add}[_finalize]_{tuned,general}_kernel(params): params starts with {int
// ctas_per_col, ctas_per_row, rows, cols}. Backward leaves one row of partial sums of gamma's (and
// beta's) gradient for each group of blocks, which the finalising kernel adds up.
std::optional<Demand> EngineNorm(const Launch& l) {
  const auto word = [&](std::size_t i) {
    return static_cast<double>(l.parameters.At<std::int32_t>(4 * i).value_or(0));
  };
  const NormTraits types = TraitsOf(l);
  const double groups = word(0), rows = word(2);
  // Kernels that are tuned for one width are launched without it.
  const double columns = word(3) == 0 ? types.columns : word(3);
  constexpr double kColumnsMax = 1 << 20;
  if (groups < 1 || columns < 1 || columns > kColumnsMax) return std::nullopt;
  const double weights = l.name.base.starts_with("ln_") ? 2 : 1;  // Gamma and beta, or gamma.
  const double partial = groups * columns * weights * types.compute;
  if (l.name.Has("finalize")) {
    Demand demand = Passes(Family::kNormalization, groups * columns * weights,
                           partial + weights * columns * types.weight, 2);
    demand.serial_steps = 2;  // The partial sums of one column meet through shared memory.
    demand.efficiency = 0.6;
    return demand;
  }
  if (rows < 1) return std::nullopt;
  const double elements = rows * columns;
  const bool backward = l.name.Has("_bwd_");
  const double operands =
      backward ? (l.name.Has("_add_") ? 4 : 3) * types.input : types.input + types.output;
  const double statistics = rows * weights * types.compute;
  Demand demand = Passes(Family::kNormalization, elements,
                         elements * operands + statistics + weights * columns * types.weight +
                             (backward ? partial : 0),
                         10);
  demand.efficiency = LayerNormEfficiency(columns * types.input);
  return demand;
}

// unary_kernel(in, noop, out, scale, amax, scale_inv, p, N, aligned) and unary_grad_kernel(grad,
// in, out, scale, amax, scale_inv, p, N, aligned): activations and casts.
std::optional<Demand> EngineUnary(const Launch& l) {
  const auto elements = l.Size(7);
  if (!elements) return std::nullopt;
  const bool grad = l.name.Has("unary_grad_kernel");
  const double width =
      l.ElementBytesOf(0, 2) + (grad ? l.ElementBytesOf(1, 2) : 0) + l.ElementBytesOf(2, 2);
  return Passes(grad || !l.name.Has("identity") ? Family::kElementwise : Family::kCast, *elements,
                *elements * width, 20);
}

// gated_act_kernel(in, out, scale, amax, scale_inv, m, n, ...): in is m x 2n. dgated_act_kernel(
// grad, in, out, scale, amax, scale_inv, m, n, ...): out is m x 2n, too.
std::optional<Demand> EngineGated(const Launch& l) {
  const bool grad = l.name.base.starts_with("dgated");
  const auto elements = Product(l, grad ? 6 : 5);
  if (!elements) return std::nullopt;
  const double width =
      grad ? l.ElementBytesOf(0, 2) + 2 * l.ElementBytesOf(1, 2) + 2 * l.ElementBytesOf(2, 2)
           : 2 * l.ElementBytesOf(0, 2) + l.ElementBytesOf(1, 2);
  return Passes(Family::kElementwise, *elements, *elements * width, 20);
}

// cast_transpose_{optimized,general}_kernel(in, noop, out, out_t, scale, amax, scale_inv, columns,
// rows) writes the cast matrix and its transpose.
std::optional<Demand> EngineCastTranspose(const Launch& l) {
  const auto elements = Product(l, 7);
  if (!elements) return std::nullopt;
  Demand demand = Passes(
      Family::kCast, *elements,
      *elements * (l.ElementBytesOf(0, 2) + l.ElementBytesOf(2, 1) + l.ElementBytesOf(3, 1)), 4);
  demand.efficiency = 0.7;
  return demand;
}

// cast_transpose_fusion_kernel_optimized(CTDBiasDActParam<in, activation's in, out, compute>,
// columns, rows, tiles): the gradient of a bias beside, and of an activation where the kernel's
// name has its function.
std::optional<Demand> EngineCastTransposeBias(const Launch& l) {
  const auto elements = Product(l, 1);
  if (!elements) return std::nullopt;
  const auto types = SplitTopLevel(TemplateArguments(l.name.full, "CTDBiasDActParam"));
  const auto width = [&](std::size_t i, double otherwise) {
    return i < types.size() ? ElementBytes(types[i]).value_or(otherwise) : otherwise;
  };
  const double activation = l.name.Has("dact") || l.name.Has("dgelu") ? width(1, 2) : 0;
  Demand demand = Passes(Family::kCast, *elements,
                         *elements * (width(0, 2) + activation + 2 * width(2, 1)), 10);
  demand.efficiency = 0.7;
  return demand;
}

// transpose_{optimized,general}_kernel(in, noop, out, columns, rows).
std::optional<Demand> EngineTranspose(const Launch& l) {
  const auto elements = Product(l, 3);
  if (!elements) return std::nullopt;
  Demand demand = Passes(Family::kCopy, *elements, 2 * *elements * l.ElementBytesOf(0, 2), 0);
  demand.efficiency = 0.7;
  return demand;
}

// reduce_dbias_kernel(out, partial sums, columns, rows).
std::optional<Demand> EngineBiasGradient(const Launch& l) {
  const auto elements = Product(l, 2);
  if (!elements) return std::nullopt;
  Demand demand =
      Passes(Family::kReduction, *elements,
             *elements * l.ElementBytesOf(1, 4) + *l.Size(2) * l.ElementBytesOf(0, 2), 1);
  demand.efficiency = 0.6;
  return demand;
}

// fused_rope_{forward,backward}_kernel(in, cu_seqlens, freqs, start_positions, out, interleaved,
// cp_size, cp_rank, s, h, d, ...): a block for each position and sequence turns h heads of d.
std::optional<Demand> EngineRope(const Launch& l) {
  constexpr std::size_t kHeads = 9;
  const auto row = Product(l, kHeads);
  if (!row) return std::nullopt;
  const double elements = *row * static_cast<double>(l.launch.grid.Count());
  Demand demand = Passes(Family::kElementwise, elements,
                         2 * elements * l.ElementBytesOf(0, 2) +
                             4 * static_cast<double>(l.launch.grid.x) * *l.Size(kHeads + 1),
                         6);
  return demand;
}

// fused_qkv_rope_{forward,backward}_kernel(..., s, b, h, d, d2, q's, k's and v's width): the widths
// are those of one group of heads, of which there are h.
std::optional<Demand> EngineRopeTogether(const Launch& l) {
  const std::size_t count = l.name.parameters.size();
  constexpr std::size_t kSizes = 8;
  if (count < kSizes) return std::nullopt;
  const auto places = Product(l, count - 8);
  const auto heads = l.Size(count - 6);
  if (!places || !heads) return std::nullopt;
  double width = 0;
  for (std::size_t i = count - 3; i < count; ++i) width += l.Size(i).value_or(0);
  const double elements = *places * *heads * width;
  return Passes(Family::kElementwise, elements, 2 * elements * l.ElementBytesOf(0, 2), 6);
}

// fused_topk_with_score_function_{forward,backward}_kernel(logits, tokens, experts, ...) and its
// relatives: scores of every token and expert come in, a map and probabilities go out.
std::optional<Demand> EngineRouter(const Launch& l) {
  const std::vector<std::string>& types = l.name.parameters;
  const auto first = std::ranges::find(types, "int");
  if (first == types.end()) return std::nullopt;
  const auto elements = Product(l, static_cast<std::size_t>(first - types.begin()));
  if (!elements) return std::nullopt;
  const double width = l.ElementBytesOf(0, 4);
  Demand demand = Passes(Family::kSort, *elements, *elements * (3 * width + 1), 20);
  demand.efficiency = 0.5;
  return demand;
}

// Single blocks that look at a history or hand on a few words: scales from maxima (a thread for
// each step of the history), seeds of dropout.
std::optional<Demand> EngineBookkeeping(const Launch& l) {
  Demand demand;
  demand.family = Family::kMisc;
  demand.evidence = Evidence::kGrid;
  demand.bytes = l.threads() * 16;
  demand.serial_steps = 3;
  return demand;
}

}  // namespace eidolon::timing::kernel
