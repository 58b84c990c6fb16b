// Transformer Engine's quantisation to 8 and 4 bits: current scaling, blocks of 128, MXFP8 and
// NVFP4. Each reads a matrix (a gate beside it, the gradient of an activation) and writes it in the
// narrow type row by row, column by column, or both, with a scale for each block. Layouts:
// common/cast, common/transpose, common/hadamard_transform and common/recipe of its sources.
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

bool IsSize(std::string_view type) { return type == "unsigned long" || type == "int"; }

// The first two size parameters that follow each other: rows and columns, in either order.
std::optional<double> FirstProduct(const Launch& l) {
  const std::vector<std::string>& types = l.name.parameters;
  for (std::size_t i = 0; i + 1 < types.size(); ++i) {
    if (!IsSize(types[i]) || !IsSize(types[i + 1])) continue;
    const auto a = l.Size(i);
    const auto b = l.Size(i + 1);
    if (!a || !b) return std::nullopt;
    return *a * *b;
  }
  return std::nullopt;
}

// Widths of the element types among the template arguments, in order: what is read, then written.
struct Widths {
  double in = 2;
  double out = 1;
};

Widths WidthsOf(const Launch& l) {
  std::vector<double> found;
  for (const std::string& argument : l.name.templates) {
    // The type of scales of blocks stands before the two.
    if (argument == "float" && l.name.base.starts_with("block_scaled") && found.empty()) continue;
    if (const auto width = ElementBytes(argument)) found.push_back(*width);
  }
  Widths widths;
  if (!found.empty()) widths.in = found[0];
  if (found.size() > 1) widths.out = found[1];
  return widths;
}

bool Flag(const Launch& l, std::size_t argument) { return l.Template(argument) == "true"; }

double TensorMaps(const Launch& l) {
  return static_cast<double>(std::ranges::count(l.name.parameters, "CUtensorMap_st"));
}

// `read` and `written` bytes for each element, the scales included.
Demand Quantized(double elements, double read, double written, double flops_each) {
  Demand demand;
  demand.family = Family::kCast;
  demand.evidence = Evidence::kParameters;
  demand.bytes = elements * (read + written);
  demand.flops = elements * flops_each;
  demand.efficiency = 0.7;  // As kernels that transpose on the way.
  return demand;
}

constexpr double kMxScale = 1.0 / 32;  // One byte for 32 elements.
constexpr double kFp4 = 0.5 + 1.0 / 16;

}  // namespace

// amax_kernel(in, amax, N, aligned, noop).
std::optional<Demand> EngineAmax(const Launch& l) {
  const auto elements = l.Size(2);
  if (!elements) return std::nullopt;
  Demand demand = Quantized(*elements, l.ElementBytesOf(0, 2), 0, 2);
  demand.family = Family::kReduction;
  demand.efficiency = 0.8;
  return demand;
}

// quantize_mxfp8_kernel<bias gradient, activation gradient, activation, parameter, operation, in,
// out, by rows, by columns, ...>(tensor maps, scales, scales, noop, workspace, amax, rows, columns,
// ...).
std::optional<Demand> EngineQuantizeMxfp8(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const Widths width = WidthsOf(l);
  const double inputs = Flag(l, 1) ? 2 : 1;
  const double outputs = (Flag(l, 7) ? 1 : 0) + (Flag(l, 8) ? 1 : 0);
  return Quantized(*elements, inputs * width.in, outputs * (width.out + kMxScale), 10);
}

// quantize_mxfp8_kernel_cast_only<traits>: by rows it has pointers, otherwise a tensor map for the
// input and each output.
std::optional<Demand> EngineCastMxfp8(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const std::string_view traits =
      l.name.Has("CastTraitsSwizzle<") ? "CastTraitsSwizzle" : "CastTraits";
  const auto types = SplitTopLevel(TemplateArguments(l.name.full, traits));
  const double read = types.empty() ? 2 : ElementBytes(types[0]).value_or(2);
  const double outputs = std::max(1.0, TensorMaps(l) - 1);
  return Quantized(*elements, read, outputs * (1 + kMxScale), 6);
}

// quantize_gated_mxfp8_kernel<backward, parameter, activation, its gradient, in, out, by rows, by
// columns, ...> and cast_fp8_gated_kernel<backward, parameter, activation, its gradient, in, out>:
// forward reads two matrices and writes one, backward reads three and writes two.
std::optional<Demand> EngineQuantizeGated(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const Widths width = WidthsOf(l);
  const bool backward = Flag(l, 0);
  const bool scaled = l.name.Has("mxfp8");
  const double ways = scaled ? (Flag(l, 6) ? 1 : 0) + (Flag(l, 7) ? 1 : 0) : 1;
  return Quantized(*elements, (backward ? 3 : 2) * width.in,
                   (backward ? 2 : 1) * ways * (width.out + (scaled ? kMxScale : 0)), 20);
}

// cast_fp8_2D_kernel<bias gradient, activation gradient, parameter, operation, in, out>(tensor
// maps, ..., rows, columns) and cast_fp8_1D_kernel<activation, parameter, operation, in, out>(in,
// out, amax, scale, scale, N, ...).
std::optional<Demand> EngineCastFp8(const Launch& l) {
  const bool flat = l.name.base == "cast_fp8_1D_kernel";
  const auto elements = flat ? l.Size(5) : FirstProduct(l);
  if (!elements) return std::nullopt;
  const Widths width = WidthsOf(l);
  const double inputs = !flat && Flag(l, 1) ? 2 : 1;
  Demand demand = Quantized(*elements, inputs * width.in, width.out, 10);
  demand.efficiency = 0.8;
  return demand;
}

// block_scaled_cast_transpose_kernel<transpose, scale, in, out>(in, out, transposed, scales,
// scales, columns, rows, ...): a scale for 128 x 128 elements.
std::optional<Demand> EngineBlockScaledSquare(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const Widths width = WidthsOf(l);
  return Quantized(*elements, width.in, (Flag(l, 0) ? 2 : 1) * width.out, 6);
}

// block_scaled_1d_cast_transpose_kernel<aligned, scale, in, out>(in, out, transposed, scales,
// scales, columns, rows, 4 strides, epsilon, by rows, by columns, ...): a scale for 128 elements.
std::optional<Demand> EngineBlockScaledVector(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const Widths width = WidthsOf(l);
  constexpr std::size_t kByRows = 12;
  const double ways = (l.Size(kByRows) ? 1 : 0) + (l.Size(kByRows + 1) ? 1 : 0);
  return Quantized(*elements, width.in, std::max(1.0, ways) * (width.out + 4.0 / 128), 6);
}

// quantize_transpose_nvfp4_*kernel(tensor maps of input, output, transposed, scales, scales, noop,
// amax, amax, rows, columns, ...).
std::optional<Demand> EngineQuantizeNvfp4(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  return Quantized(*elements, 2, std::max(1.0, TensorMaps(l) - 1) * kFp4, 10);
}

// HadamardAmaxTmaKernel(tensor map, 3 maxima, 2 masks, rows, columns) reads only;
// [row_col_]rht_gemm_device(M, N, K, ...) multiplies rows of M x N elements by a fixed matrix of 16
// x 16 and writes them and what they were in 4 bits.
std::optional<Demand> EngineHadamard(const Launch& l) {
  const bool writes = l.name.Has("rht_gemm_device");
  const auto rows = writes ? l.Size(0) : std::nullopt;
  const auto columns = writes ? l.Size(1) : std::nullopt;
  const auto elements =
      writes ? (rows && columns ? std::optional(*rows * *columns) : std::nullopt) : FirstProduct(l);
  if (!elements) return std::nullopt;
  const double ways = l.name.Has("row_col_rht") ? 2 : 1;
  Demand demand = Quantized(*elements, 2, writes ? ways * kFp4 : 0, 32);
  if (!writes) demand.family = Family::kReduction;
  demand.unit = Unit::kTensorCore;
  demand.type = "bf16";
  return demand;
}

// dequantize_mxfp8_kernel<in, out, ...>(tensor maps, scales, rows, columns, ...) and
// dequantize_fp4_kernel(in, out, scales, amax, ...).
std::optional<Demand> EngineDequantize(const Launch& l) {
  const auto elements = FirstProduct(l);
  if (!elements) return std::nullopt;
  const bool four_bits = l.name.Has("fp4");
  const Widths width = WidthsOf(l);
  return Quantized(*elements, four_bits ? kFp4 : 1 + kMxScale,
                   four_bits ? width.in : std::max(2.0, width.out), 4);
}

// swizzle_{row,col}_scaling*_kernel(in, out, M, K, ...) reorders one byte for each block.
std::optional<Demand> EngineSwizzle(const Launch& l) {
  const auto scales = FirstProduct(l);
  if (!scales) return std::nullopt;
  Demand demand = Quantized(*scales, 1, 1, 0);
  demand.family = Family::kCopy;
  return demand;
}

}  // namespace eidolon::timing::kernel
