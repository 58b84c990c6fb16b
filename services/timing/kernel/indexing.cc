// Gathers, scatters, embeddings, sorting; and the two rules for kernels without a known layout.
#include <algorithm>
#include <cmath>

#include "services/contract/machine/machine.h"
#include "services/contract/torch_layout/tensor_view.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"
#include "services/timing/kernel/work_counts.h"

namespace eidolon::timing::kernel {
namespace {

Demand Rows(Family family, double rows, double row_bytes, double operands) {
  Demand demand;
  demand.family = family;
  demand.evidence = Evidence::kParameters;
  demand.bytes = rows * row_bytes * operands + rows * 8;
  demand.random_bytes = rows * row_bytes;
  demand.row_bytes = row_bytes;
  return demand;
}

// Elements of a TensorInfo<T, index>.
std::optional<double> TensorInfoElements(const Launch& l, std::size_t slot) {
  const auto where = l.parameters.Slot(slot);
  if (!where || slot >= l.name.parameters.size()) return std::nullopt;
  if (l.name.parameters[slot].find("TensorInfo<") == std::string::npos) return std::nullopt;
  const bool wide = l.name.parameters[slot].find("long>") != std::string::npos;
  const torch_layout::TensorInfo info{.index = wide ? 8u : 4u};
  constexpr auto kDimensions = static_cast<std::int32_t>(torch_layout::TensorInfo::kDimensions);
  const auto dims = l.parameters.At<std::int32_t>(where->offset + info.DimensionsAt());
  if (!dims || *dims < 0 || *dims > kDimensions) return std::nullopt;
  double elements = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(*dims); ++d) {
    const std::size_t at = where->offset + info.SizeAt(d);
    const double size = wide ? static_cast<double>(l.parameters.At<std::uint64_t>(at).value_or(0))
                             : l.parameters.At<std::uint32_t>(at).value_or(0);
    if (size <= 0) return std::nullopt;
    elements *= size;
  }
  return elements;
}

// The largest integer parameter that the launch's threads can have been made for.
double LargestSize(const Launch& l) {
  constexpr double kElementsPerThreadMax = 256;
  double largest = 0;
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    const double size = l.Size(i).value_or(0);
    if (size <= l.threads() * kElementsPerThreadMax) largest = std::max(largest, size);
  }
  return largest;
}

}  // namespace

// vectorized_gather_kernel<align, index>(out, in, index*, int rows, long slice_bytes, ...) and
// vectorized_scatter_kernel: whole rows. On H200 16384 rows of 8 KiB move at 3.6 TB/s; 8192 of 10
// KiB, not used, at 3.5 (e2e/measured). Rows that come again are found in L2.
std::optional<Demand> Gather(const Launch& l) {
  const auto rows = l.Size(3);
  const auto row_bytes = l.Size(4);
  if (!rows || !row_bytes) return std::nullopt;
  Demand demand = Rows(Family::kEmbedding, *rows, *row_bytes, 2);
  const double table_rows = l.name.Has("scatter") ? 0 : l.Size(5).value_or(0);
  const double touched = RowsTouched(*rows, table_rows);
  demand.bytes -= (*rows - touched) * *row_bytes;
  demand.random_bytes = touched * *row_bytes;
  demand.efficiency = 0.82;
  return demand;
}

// EmbeddingBag_updateOutputKernel_sum_mean<T, index>(input, offsets, weight, output, bag of index,
// long indices, long bags, long width, strides, mode, sizes, weights, stride, padding, long rows)
// and ..._max: a row of 32 threads takes 32 columns of a bag after the other. Each row of the table
// waits for its index, and the store of the index's bag between two rows keeps the next one's load
// behind it. Bags are taken for equally long.
std::optional<Demand> EmbeddingBag(const Launch& l) {
  const auto indices = l.Size(5);
  const auto bags = l.Size(6);
  const auto width = l.Size(7);
  if (!indices || !bags || !width) return std::nullopt;
  constexpr double kColumns = 32, kFirstLoads = 2;
  const double element = ElementBytes(l.Template(0)).value_or(4);
  const double table_rows =
      l.parameters.slot_count() == 0 ? 0 : l.Size(l.parameters.slot_count() - 1).value_or(0);
  Demand demand = Rows(Family::kEmbedding, *indices, *width * element, 0);
  demand.random_bytes = RowsTouched(*indices, table_rows) * *width * element;
  demand.bytes += demand.random_bytes + *bags * *width * element;
  const double chunks = *bags * std::ceil(*width / kColumns);
  const double rows_of_block = std::max(1u, l.launch.block.y);
  const double grid = static_cast<double>(l.launch.grid.Count());
  demand.dependent_loads =
      std::ceil(chunks / (grid * rows_of_block)) * (kFirstLoads + *indices / *bags);
  demand.dependent_bytes = (table_rows + *bags) * *width * element;
  demand.working_blocks = std::ceil(chunks / rows_of_block);
  return demand;
}

// embedding_backward_feature_kernel<T, acc, index>(idx, grad, grad_weight, int rows, long width,
// pad): reads the gradient, reads and writes rows of the table's.
std::optional<Demand> EmbeddingBackward(const Launch& l) {
  const auto rows = l.Size(3);
  const auto width = l.Size(4);
  if (!rows || !width) return std::nullopt;
  Demand demand =
      Rows(Family::kEmbedding, *rows, *width * ElementBytes(l.Template(0)).value_or(4), 3);
  // Each block walks all indices, 32 at a time, to find its own.
  demand.serial_steps = *rows / 256;
  return demand;
}

namespace {

// Steps of a segment: where it begins and ends, its row, the value.
constexpr double kStepsOfSegment = 2.72;

}  // namespace

// compute_grad_weight<T, index>(order, grad, count, long rows, long width, ...): the embedding
// gradient by sorted segments; sum_and_scatter adds the segments up.
std::optional<Demand> SegmentedGradient(const Launch& l) {
  const auto rows = l.Size(3);
  const auto width = l.Size(4);
  if (!rows || !width) return std::nullopt;
  Demand demand =
      Rows(Family::kEmbedding, *rows, *width * ElementBytes(l.Template(0)).value_or(4), 1.5);
  // A thread has a column of a segment of up to ten rows. The grid is made for as many segments as
  // there may be, and with words that are drawn from a large vocabulary nearly all are of one row:
  // a wave of blocks lasts 1.62 us on H200 for rows of 768, and 1.66 and 1.72 for longer ones that
  // the constant was not chosen by (e2e/measured).
  demand.wave_steps = kStepsOfSegment;
  return demand;
}

// sum_and_scatter<T, index>(...): a thread a column of a segment. A wave lasts 1.65 us on H200 for
// rows of 768; 1.82 and 1.90 for longer ones, not used (e2e/measured).
std::optional<Demand> SumAndScatter(const Launch& l) {
  Demand demand;
  demand.family = Family::kEmbedding;
  demand.evidence = Evidence::kGrid;
  demand.bytes = l.threads() * (4 + ElementBytes(l.Template(0)).value_or(4));
  demand.wave_steps = kStepsOfSegment;
  return demand;
}

// indexing_backward_kernel*(sorted, indices, grad, grad_weight, long rows, long stride, ...): a
// warp adds rows of equal indices one after the other. Here all are taken for different ones, as
// the indices are not part of the launch. Each of the longest run takes 0.66 to 0.89 us on H100:
// 8192 rows in 128 places, of which one gets about 85, last 56 and 60 us, 4096 in 16 with about 283
// 213 and 253 (e2e/measured/h100/scattered.jsonl.gz).
std::optional<Demand> IndexingBackward(const Launch& l) {
  const auto rows = l.Size(4);
  const auto stride = l.Size(5);
  if (!rows || !stride) return std::nullopt;
  Demand demand = Rows(Family::kIndex, *rows, *stride * ElementBytes(l.Template(0)).value_or(4), 3);
  demand.serial_duplicates = true;
  return demand;
}

// indexSelect*Index(TensorInfo dst, src, indices, ...)
std::optional<Demand> IndexSelect(const Launch& l) {
  const auto first = TensorInfoElements(l, 0);
  const auto indices = TensorInfoElements(l, 2);
  if (!first || !indices || *indices <= 0) return std::nullopt;
  const double width = ElementBytes(l.Template(0)).value_or(4);
  return Rows(Family::kIndex, *indices, *first / *indices * width, 2);
}

// indexFuncLargeIndex<T, index, ..., bool index first, F>(TensorInfo dst, src, indices, int, int,
// elements, inner, ...): a thread adds one element to memory. indexFuncSmallIndex has no count of
// elements, and at most 16 indices.
std::optional<Demand> IndexFunction(const Launch& l) {
  constexpr double kFewIndices = 16;
  const bool small = l.name.base == "indexFuncSmallIndex";
  const auto counted = l.Size(5);
  if (!counted) return std::nullopt;
  const double indices = TensorInfoElements(l, 2).value_or(kFewIndices);
  const double elements = *counted * (small ? indices : 1);
  const double width = ElementBytes(l.Template(0)).value_or(4);
  Demand demand = Rows(Family::kIndex, elements, width, 3);
  demand.random_bytes = 0;  // Rows are long where the sizes are those of training.
  // L2 adds 16 bits at a time, 116 to 121 G/s on H200, as many as it answers scattered sectors; the
  // smallest of three shapes gave no number (e2e/measured). Wider ones are taken for whole sectors.
  constexpr double kNarrowBytes = 2;
  demand.sectors = width <= kNarrowBytes ? elements : elements * width / machine::kSectorBytes;
  return demand;
}

// vectorized_gather_kernel(..., int rows, long slice_bytes, long table_rows, ...), and
// indexSelect*Index(TensorInfo dst, src, indices, ..., long table_rows).
// A kernel of torch.compile that looks rows up, with whatever follows fused to it. Its sizes tell
// how many elements the rows have together: rows x columns in a reduction, their number elsewhere.
// What is looked up again for a backward pass is no further lookup.
std::optional<Lookups> CompiledLookups(const Launch& l) {
  const std::string_view name = l.name.base;
  const bool is_compiled = name.starts_with("triton_poi_fused_") ||
                           name.starts_with("triton_red_fused_") ||
                           name.starts_with("triton_per_fused_");
  if (!is_compiled || !l.name.Has("_embedding") || l.name.Has("backward")) return std::nullopt;
  double elements = 1;
  bool has_size = false;
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    if (l.parameters.Slot(i)->bytes != 4) continue;
    const auto size = l.Size(i);
    if (!size || *size <= 0) return std::nullopt;
    elements *= *size;
    has_size = true;
  }
  if (!has_size) return std::nullopt;
  return Lookups{.indices = static_cast<std::uint64_t>(elements)};
}

std::optional<Lookups> TableLookups(const KernelLaunch& launch, const KernelName& name) {
  const Launch l{.launch = launch, .name = name, .parameters = Parameters(launch)};
  if (const auto compiled = CompiledLookups(l)) return compiled;
  std::optional<double> indices;
  std::optional<double> row_bytes;
  std::optional<double> table_rows;
  if (name.base == "vectorized_gather_kernel") {
    indices = l.Size(3);
    row_bytes = l.Size(4);
    table_rows = l.Size(5);
  } else if (name.base == "indexSelectLargeIndex" || name.base == "indexSelectSmallIndex") {
    const auto gathered = TensorInfoElements(l, 0);
    indices = TensorInfoElements(l, 2);
    const auto element_bytes = ElementBytes(l.Template(0));
    if (!gathered || !indices || !element_bytes || l.parameters.slot_count() == 0) return {};
    row_bytes = *gathered / *indices * *element_bytes;
    table_rows = l.Size(l.parameters.slot_count() - 1);
  }
  if (!indices || !row_bytes || !table_rows) return std::nullopt;
  return Lookups{.indices = static_cast<std::uint64_t>(*indices),
                 .table_rows = static_cast<std::uint64_t>(*table_rows),
                 .row_bytes = static_cast<std::uint64_t>(*row_bytes)};
}

// Kernels between the passes of a sort, scan or segmented sum: histograms, tile states, offsets.
// Their sizes are the launch's own: each thread handles a word or two, after a round trip to
// memory.
std::optional<Demand> Bookkeeping(const Launch& l) {
  Demand demand;
  demand.family = l.name.Has("RadixSort") ? Family::kSort
                  : l.name.Has("Device")  ? Family::kScan
                                          : Family::kEmbedding;
  demand.evidence = Evidence::kGrid;
  demand.bytes = l.threads() * 16;
  demand.serial_steps = 2;
  return demand;
}

// A thread that reads one element and decides by it: PyTorch's asynchronous assertion.
std::optional<Demand> SingleCheck(const Launch& l) {
  Demand demand;
  demand.family = Family::kMisc;
  demand.evidence = Evidence::kGrid;
  demand.bytes = l.threads() * 16;
  demand.serial_steps = 1;
  return demand;
}

// torch.cuda._sleep: reads the clock until as many have passed as its only parameter says.
std::optional<Demand> Spin(const Launch& l) {
  const std::optional<std::int64_t> clocks = l.parameters.Integer(0);
  if (!clocks || l.parameters.slot_count() != 1) return std::nullopt;
  Demand demand;
  demand.family = Family::kMisc;
  demand.evidence = Evidence::kParameters;
  demand.clocks = std::max(0.0, static_cast<double>(*clocks));
  return demand;
}

// Kernels whose signature tells the types of their operands: every pointer is taken to hold as many
// elements as the largest size parameter says.
std::optional<Demand> Typed(const Launch& l) {
  const double elements = LargestSize(l);
  double width = 0;
  for (const std::string& type : l.name.parameters) {
    if (type.ends_with('*')) width += ElementBytes(type).value_or(0);
  }
  double tensors = 0;
  for (std::size_t i = 0; i < l.name.parameters.size(); ++i) {
    const auto count = TensorInfoElements(l, i);
    if (!count) continue;
    const auto arguments = SplitTopLevel(TemplateArguments(l.name.parameters[i], "TensorInfo"));
    tensors += *count * ElementBytes(arguments.empty() ? "" : arguments[0]).value_or(4);
  }
  if (tensors == 0 && (elements == 0 || width == 0)) return std::nullopt;
  Demand demand;
  demand.family = Family::kMisc;
  demand.evidence = Evidence::kGrid;
  demand.bytes = tensors > 0 ? tensors : elements * std::min(width, 32.0);
  demand.flops = elements * 10;
  demand.efficiency = 0.7;
  return demand;
}

Demand Generic(const Launch& l) {
  Demand demand;
  demand.evidence = Evidence::kGuess;
  const double pointers = std::clamp(l.parameters.PointerCount(), 1, 16);
  const double elements = std::max(LargestSize(l), l.threads());
  demand.bytes = elements * pointers * 4;
  demand.flops = elements * 20;
  demand.efficiency = 0.6;
  return demand;
}

}  // namespace eidolon::timing::kernel
