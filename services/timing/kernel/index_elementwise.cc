// Kernels that read an index for every element and move it (ATen/native/cuda/IndexKernel.cu,
// ScatterGatherKernel.cu): one thread handles a few elements, whose addresses it works out.
#include <algorithm>
#include <cmath>
#include <utility>

#include "services/contract/torch_layout/offset_calculator.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/operand_axes.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

using torch_layout::OffsetCalculator;

constexpr double kIndexBytes = 8;
constexpr std::size_t kOperands = 3;

// Work of a functor on an element.
struct Move {
  std::string_view word;      // In the functor's name, its first argument an element's type.
  std::size_t index_operand;  // Of the three of the offset calculator.
  bool writes_table;          // The indexed tensor is written, not read.
  // Instructions of an element: counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon
  // kernel explain`).
  double instructions;
};
constexpr Move kMoves[] = {
    {"_cuda_scatter_gather_internal_kernel", 2, true, 68},
    {"_cuda_scatter_fill_internal_kernel", 1, true, 60},
    {"take_put_kernel", 1, true, 56},
    {"index_copy_kernel", 1, true, 71},
    {"index_fill_kernel", 1, true, 74},
    {"index_put_kernel", 2, true, 100},
    {"index_kernel", 2, false, 100},
    {"flip_kernel", kOperands, false, 46},
};
// Reductions into 16 bits, which read a word of 32 and try to exchange it.
constexpr double kNarrowReductionInstructions = 106;

const Move* FindMove(std::string_view functor) {
  for (const Move& move : kMoves) {
    if (functor.find(move.word) != std::string_view::npos) return &move;
  }
  return nullptr;
}

double WidthOf(std::string_view functor) {
  for (const char* word :
       {"_cuda_scatter_gather_internal_kernel", "cuda_take_put_kernel", "index_kernel_impl",
        "index_put_kernel_impl", "index_copy_kernel_impl", "index_fill_kernel_impl",
        "flip_kernel_impl", "_cuda_scatter_fill_internal_kernel", "OpaqueType"}) {
    for (const std::string& type : SplitTopLevel(TemplateArguments(functor, word))) {
      if (type == "true" || type == "false") continue;
      if (const auto width = ElementBytes(type)) return *width;
    }
  }
  return 4;
}

// Elements in a row that one index moves, and how many indices there are.
struct Runs {
  double elements = 1;
  double indices = 0;
  bool of_one_table = false;  // Indices lie in one dimension: of rows of one matrix.
};
Runs RunsOf(const Axes& index, double elements) {
  Runs runs{.indices = elements};
  std::size_t d = 0;
  for (; d < index.size() && index[d].stride == 0; ++d) runs.elements *= index[d].size;
  runs.of_one_table = d + 1 == index.size();
  runs.indices = elements / runs.elements;
  return runs;
}

// Rows of the indexed tensor, which the closure holds behind its pointers; 0 when it is not known.
double TableRows(const Launch& l, const ParameterSlot& closure, std::string_view functor) {
  const std::size_t behind = closure.offset + OffsetCalculator::AlignedBytes(kOperands);
  const bool scatters = functor.find("_cuda_scatter_gather_internal_kernel") != functor.npos;
  if (!scatters && functor.find("index_copy_kernel") == functor.npos) return 0;
  const std::size_t pointers = scatters ? 1 : 3;
  if (l.parameters.PointerCount(behind, behind + 8 * pointers) != static_cast<int>(pointers)) {
    return 0;
  }
  const auto rows = l.parameters.At<std::int64_t>(behind + 8 * pointers);
  constexpr std::int64_t kRowsMax = std::int64_t{1} << 40;
  return rows && *rows > 0 && *rows < kRowsMax ? static_cast<double>(*rows) : 0;
}

}  // namespace

double RowsTouched(double indices, double table_rows) {
  if (table_rows <= 0) return indices;
  return table_rows * -std::expm1(-indices / table_rows);
}

// index_elementwise_kernel and _scatter_gather_elementwise_kernel<threads, vt, F>(N, F); F is a
// lambda that holds an offset calculator of three operands, pointers and sizes.
std::optional<Demand> IndexElementwise(const Launch& l) {
  const auto elements = l.Size(0);
  const auto closure = l.parameters.Slot(1);
  if (!elements || l.name.templates.empty()) return std::nullopt;
  const std::string_view functor = l.name.templates.back();
  const double width = WidthOf(functor);
  const Move* move = FindMove(functor);
  Demand demand;
  demand.family = Family::kIndex;
  demand.evidence = Evidence::kParameters;
  if (move != nullptr && move->index_operand >= kOperands) {
    demand.bytes = 2 * *elements * width;
    demand.instructions = *elements * move->instructions;
    return demand;
  }
  Runs runs{.indices = *elements};
  double table_rows = 0;
  if (move != nullptr && closure) {
    const std::vector<Axes> axes = AxesOf(l.parameters, closure->offset, kOperands);
    if (!axes.empty()) runs = RunsOf(axes[move->index_operand], *elements);
    if (runs.of_one_table) table_rows = TableRows(l, *closure, functor);
  }
  const bool reduces = functor.find("Reduce") != functor.npos;
  const double touched = RowsTouched(runs.indices, table_rows) * runs.elements * width;
  demand.random_bytes = touched * (reduces ? 2 : 1);
  demand.row_bytes = runs.elements * width;
  demand.bytes = runs.indices * kIndexBytes + *elements * width + demand.random_bytes;
  constexpr double kNarrowBytes = 2, kOtherInstructions = 70;
  const double instructions = move != nullptr ? move->instructions : kOtherInstructions;
  demand.instructions =
      *elements * (reduces && width <= kNarrowBytes ? kNarrowReductionInstructions : instructions);
  return demand;
}

}  // namespace eidolon::timing::kernel
