// Gathers, scatters, embeddings, sorting; and the two rules for kernels without a known layout.
#include <algorithm>
#include <cmath>

#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"
#include "services/timing/kernel/work_counts.h"
#include "services/torch_layout/tensor_view.h"

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
// vectorized_scatter_kernel: whole rows.
std::optional<Demand> Gather(const Launch& l) {
  const auto rows = l.Size(3);
  const auto row_bytes = l.Size(4);
  if (!rows || !row_bytes) return std::nullopt;
  return Rows(Family::kEmbedding, *rows, *row_bytes, 2);
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

// compute_grad_weight<T, index>(order, grad, count, long rows, long width, ...): the embedding
// gradient by sorted segments; sum_and_scatter adds the segments up.
std::optional<Demand> SegmentedGradient(const Launch& l) {
  const auto rows = l.Size(3);
  const auto width = l.Size(4);
  if (!rows || !width) return std::nullopt;
  Demand demand =
      Rows(Family::kEmbedding, *rows, *width * ElementBytes(l.Template(0)).value_or(4), 1.5);
  demand.serial_steps = 10;  // Each thread adds up to ten rows, one after another.
  return demand;
}

// sum_and_scatter<T, index>(...): a thread a column of a segment.
std::optional<Demand> SumAndScatter(const Launch& l) {
  Demand demand;
  demand.family = Family::kEmbedding;
  demand.evidence = Evidence::kGrid;
  demand.bytes = l.threads() * (4 + ElementBytes(l.Template(0)).value_or(4));
  demand.serial_steps = 4;
  return demand;
}

// indexing_backward_kernel*(sorted, indices, grad, grad_weight, long rows, long stride, ...)
std::optional<Demand> IndexingBackward(const Launch& l) {
  const auto rows = l.Size(4);
  const auto stride = l.Size(5);
  if (!rows || !stride) return std::nullopt;
  return Rows(Family::kIndex, *rows, *stride * ElementBytes(l.Template(0)).value_or(4), 3);
}

// indexSelect*Index and indexFunc*Index(TensorInfo dst, src, indices, ...)
std::optional<Demand> IndexSelect(const Launch& l) {
  const auto first = TensorInfoElements(l, 0);
  const auto second = TensorInfoElements(l, 1);
  const auto indices = TensorInfoElements(l, 2);
  if (!first || !second || !indices || *indices <= 0) return std::nullopt;
  const bool select = l.name.Has("indexSelect");
  const double moved = select ? *first : *second;
  const double width = ElementBytes(l.Template(0)).value_or(4);
  return Rows(Family::kIndex, *indices, moved / *indices * width, select ? 2 : 3);
}

// vectorized_gather_kernel(..., int rows, long slice_bytes, long table_rows, ...), and
// indexSelect*Index(TensorInfo dst, src, indices, ..., long table_rows).
std::optional<Lookups> TableLookups(const KernelLaunch& launch, const KernelName& name) {
  const Launch l{.launch = launch, .name = name, .parameters = Parameters(launch)};
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

// CUB passes and segmented sorts: the item count is the largest size; keys and values are the typed
// pointers.
std::optional<Demand> Sort(const Launch& l) {
  auto demand = Typed(l);
  if (!demand) return std::nullopt;
  demand->family = l.name.Has("Scan") || l.name.Has("scan") ? Family::kScan : Family::kSort;
  demand->efficiency = 0.5;
  // Tiles of a pass wait for their predecessors' sums: decoupled look-back (Merrill and Garland
  // 2016), some ten round trips from an idle GPU to a filled pipeline.
  demand->serial_steps = 10;
  return demand;
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
