// Kernels of PyTorch's TensorIterator (ATen/native/cuda/CUDALoops.cuh): one thread handles a few
// elements of every operand.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/contract/machine/machine.h"
#include "services/contract/torch_layout/offset_calculator.h"
#include "services/contract/torch_layout/scalar_type.h"
#include "services/contract/torch_layout/tensor_list.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/operand_axes.h"
#include "services/timing/kernel/pointwise_operations.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

using torch_layout::OffsetCalculator;

constexpr double kDefaultBytes = 4;

// Widths of a functor's operands, the output first.
using Widths = std::vector<double>;

double WidthOr(std::string_view type, double otherwise) {
  return ElementBytes(type).value_or(otherwise);
}

// The argument types of the last lambda in `functor`: "{lambda(float, bool)#2}".
std::vector<std::string> LambdaArguments(std::string_view functor) {
  const std::size_t at = functor.rfind("{lambda(");
  if (at == std::string_view::npos) return {};
  const std::size_t open = at + 8;
  int depth = 1;
  std::size_t end = open;
  for (; end < functor.size() && depth > 0; ++end) {
    if (functor[end] == '(') ++depth;
    if (functor[end] == ')') --depth;
  }
  return SplitTopLevel(functor.substr(open, end - open - (depth == 0 ? 1 : 0)));
}

// Functors whose name says that they write another type than they read.
double OutputWidth(std::string_view functor, double otherwise) {
  const auto converted = SplitTopLevel(TemplateArguments(functor, "converting_copy_kernel_cuda"));
  if (converted.size() == 2) return WidthOr(converted[1], otherwise);
  if (functor.find("bfloat16_copy_kernel") != std::string_view::npos) return 2;
  if (functor.find("float16_copy_kernel") != std::string_view::npos) return 2;
  if (functor.find("float8_copy_kernel") != std::string_view::npos) return 1;
  for (const char* word : {"compare_scalar_kernel", "isneginf_", "isposinf_", "isnan_", "isfinite_",
                           "logical_not_", "signbit_"}) {
    if (functor.find(word) != std::string_view::npos) return 1;
  }
  return otherwise;
}

// The condition of torch.where comes first among the lambda's arguments.
std::size_t TypedArgument(std::string_view functor, std::size_t arguments) {
  return arguments > 1 && functor.find("where_kernel_impl") != std::string_view::npos ? 1 : 0;
}

Widths FunctorWidths(std::string_view functor, std::size_t operands) {
  const auto all = [&](double output, double input) {
    Widths widths(std::max<std::size_t>(operands, 1), input);
    widths[0] = output;
    return widths;
  };
  for (const auto& [word, input] : {std::pair{"AUnaryFunctor", 1}, std::pair{"BUnaryFunctor", 0}}) {
    const auto arguments = SplitTopLevel(TemplateArguments(functor, word));
    if (arguments.size() < 3) continue;
    return all(WidthOr(arguments[2], kDefaultBytes),
               WidthOr(arguments[static_cast<std::size_t>(input)], kDefaultBytes));
  }
  const auto binary = SplitTopLevel(TemplateArguments(functor, "BinaryFunctor"));
  if (binary.size() >= 3 && operands == 3) {
    return {WidthOr(binary[2], kDefaultBytes), WidthOr(binary[0], kDefaultBytes),
            WidthOr(binary[1], kDefaultBytes)};
  }
  if (functor.ends_with('}')) {
    const auto arguments = LambdaArguments(functor);
    if (!arguments.empty() && arguments.size() + 1 >= operands) {
      Widths widths;
      for (const std::string& type : arguments) widths.push_back(WidthOr(type, kDefaultBytes));
      const std::size_t typed = TypedArgument(functor, widths.size());
      widths.insert(widths.begin(), OutputWidth(functor, widths[typed]));
      // Several outputs: their widths are not in the name; take the first argument's.
      widths.resize(std::max<std::size_t>(operands, 1), widths[1]);
      return widths;
    }
  }
  const std::size_t open = functor.find('<');
  if (open != std::string_view::npos && functor.ends_with('>')) {
    const auto arguments = SplitTopLevel(functor.substr(open + 1, functor.size() - open - 2));
    if (!arguments.empty()) {
      const double width = WidthOr(arguments[0], kDefaultBytes);
      return all(OutputWidth(functor, width), width);
    }
  }
  return all(kDefaultBytes, kDefaultBytes);
}

Family PointwiseFamily(std::string_view functor, const Widths& widths) {
  const auto has = [&](std::string_view word) { return functor.find(word) != std::string::npos; };
  if (has("FillFunctor")) return Family::kFill;
  if (!has("copy_kernel")) return Family::kElementwise;
  return widths.size() == 2 && widths[0] != widths[1] ? Family::kCast : Family::kCopy;
}

Demand Pointwise(std::string_view functor, double elements, double bytes, const Widths& widths) {
  Demand demand;
  demand.family = PointwiseFamily(functor, widths);
  demand.evidence = Evidence::kParameters;
  demand.bytes = bytes;
  demand.elements = elements;
  demand.flops = elements * OperationsPerElement(functor);
  // Zeros at 4.6 to 4.7 TB/s on H200, copies at 4.2 (e2e/measured).
  if (demand.family == Family::kFill) demand.efficiency = 1.06;
  return demand;
}

// The K of "std::array<char*, Kul>".
std::size_t ArrayLength(std::string_view array) {
  const std::size_t comma = array.rfind(',');
  if (comma == std::string_view::npos) return 0;
  std::size_t length = 0;
  for (const char c : array.substr(comma + 1)) {
    if (c >= '0' && c <= '9' && length < 64)
      length = length * 10 + static_cast<std::size_t>(c - '0');
  }
  return length;
}

// Element sizes that LoadWithCast and StoreWithCast carry.
void ReadCastSizes(const Launch& l, std::size_t slot, std::size_t count, double* widths) {
  const auto where = l.parameters.Slot(slot);
  const torch_layout::CastTypes types{count};
  if (!where || count == 0 || where->bytes != types.Bytes()) return;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = l.parameters.At<std::uint32_t>(where->offset + types.SizeAt(i));
    if (size && *size >= 1 && *size <= 16) widths[i] = *size;
  }
}

double Sum(const Widths& widths) {
  double sum = 0;
  for (const double width : widths) sum += width;
  return sum;
}

// Integer operations an element for offsets in several dimensions, and for types that are only
// known at run time, beside offsets and without. Published kernels on H100 (torch's profiler, 10 of
// them; e2e/validation/operators.csv) do 327 to 380, 234 and 321 G elements/s.
constexpr double kOffsetOperations = 47;
constexpr double kOffsetOperationsOfOneDimension = 37;  // Without the second division.
constexpr double kOffsetCastOperations = 71;
constexpr double kCastOperations = 52;
constexpr double kDoubleCastOperations = 83;  // Through double: 202 G elements/s, published alike.

// Returns how many sectors the elements of a warp lie in.
double SectorsOfWarp(const Axes& axes) {
  std::set<std::uint64_t> sectors;
  for (std::uint64_t lane = 0; lane < machine::kWarpLanes; ++lane) {
    std::uint64_t rest = lane;
    std::uint64_t offset = 0;
    for (const Axis& axis : axes) {
      offset += rest % axis.size * axis.stride;
      rest /= axis.size;
    }
    sectors.insert(offset / static_cast<std::uint64_t>(machine::kSectorBytes));
  }
  return static_cast<double>(sectors.size());
}

// Bytes that each operand really spans, broadcast dimensions once, and the sectors of those whose
// lanes stand apart.
void CountStrided(const std::vector<Axes>& operands, const Widths& widths, double elements,
                  Demand& demand) {
  if (operands.empty()) return;
  demand.bytes = 0;
  for (std::size_t arg = 0; arg < widths.size(); ++arg) {
    double span = widths[arg];
    for (const Axis& axis : operands[arg]) span *= axis.stride != 0 ? axis.size : 1;
    const Axis& inner = operands[arg].front();
    // A warp that walks across rows fetches 32-byte sectors; caches give about half of them back.
    demand.bytes += inner.stride <= widths[arg] ? span : span * 2;
    const double sectors = SectorsOfWarp(operands[arg]);
    if (sectors > 2 * std::max(widths[arg], 1.0))
      demand.sectors += elements * sectors / machine::kWarpLanes;
  }
}

}  // namespace

std::optional<double> Launch::Size(std::size_t slot) const {
  if (slot < name.parameters.size()) {
    const std::string& type = name.parameters[slot];
    if (type == "float" || type == "double" || type == "bool") return std::nullopt;
  }
  const auto value = parameters.Integer(slot);
  if (!value || *value <= 0) return std::nullopt;
  return static_cast<double>(*value);
}

double Launch::ElementBytesOf(std::size_t slot, double otherwise) const {
  if (slot >= name.parameters.size()) return otherwise;
  return ElementBytes(name.parameters[slot]).value_or(otherwise);
}

// vectorized_elementwise_kernel<vec, F, std::array<char*, K>>(int N, F f, array data)
std::optional<Demand> Vectorized(const Launch& l) {
  const auto elements = l.Size(0);
  if (!elements || l.name.templates.size() < 3) return std::nullopt;
  const std::string_view functor = l.Template(1);
  const Widths widths = FunctorWidths(functor, ArrayLength(l.Template(2)));
  return Pointwise(functor, *elements, *elements * Sum(widths), widths);
}

// unrolled_elementwise_kernel<F, array, per_thread, ic, oc, Loader, Storer>(N, f, data, ic, oc, l,
// s)
std::optional<Demand> Unrolled(const Launch& l) {
  const auto elements = l.Size(0);
  if (!elements || l.name.templates.size() < 2) return std::nullopt;
  const std::string_view functor = l.Template(0);
  Widths widths = FunctorWidths(functor, ArrayLength(l.Template(1)));
  ReadCastSizes(l, 6, 1, widths.data());
  if (widths.size() > 1) ReadCastSizes(l, 5, widths.size() - 1, widths.data() + 1);
  Demand demand = Pointwise(functor, *elements, *elements * Sum(widths), widths);
  if (l.name.Has("WithCast")) {
    const bool twice = functor.find("lambda(double)") != std::string_view::npos;
    demand.address_operations = *elements * (twice ? kDoubleCastOperations : kCastOperations);
  }
  return demand;
}

namespace {

// Sizes that the functor in a closure may have, the likely one first. Without state it is one byte,
// which nothing initialises.
std::vector<std::size_t> FunctorSizes(std::string_view functor) {
  for (const char* word : {"AUnaryFunctor", "BUnaryFunctor"}) {
    const auto arguments = SplitTopLevel(TemplateArguments(functor, word));
    if (arguments.empty()) continue;
    // A functor without state, padded to the operand beside it; half types are held as float.
    const double width = WidthOr(arguments[0], kDefaultBytes);
    const bool half = arguments[0].starts_with("c10::");
    return {2 * static_cast<std::size_t>(half ? kDefaultBytes : width)};
  }
  return {1, 4, 8, 16};
}

// gpu_kernel_impl's lambda holds data pointers, the functor, and the operands' own types, one byte
// each.
void ReadDynamicTypes(const Launch& l, std::size_t at, std::string_view functor, Widths& widths) {
  for (const std::size_t size : FunctorSizes(functor)) {
    Widths found;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const auto code = l.parameters.At<std::uint8_t>(at + size + i);
      const std::size_t bytes = code ? torch_layout::ScalarTypeBytes(*code) : 0;
      if (bytes > 0) found.push_back(static_cast<double>(bytes));
    }
    if (found.size() != widths.size()) continue;
    widths = std::move(found);
    return;
  }
}

// Returns how many operands the closure has: as many as the functor says, else as many as have
// their pointers in place. Unused dimensions are not initialised, so that pointers elsewhere mean
// nothing.
std::size_t ClosureOperands(const Launch& l, const ParameterSlot& closure,
                            std::string_view functor) {
  constexpr std::size_t kOperandsMax = 12;
  if (functor.ends_with('}')) return std::min(LambdaArguments(functor).size() + 1, kOperandsMax);
  if (functor.find("UnaryFunctor<") != std::string_view::npos) return 2;
  if (functor.find("BinaryFunctor<") != std::string_view::npos) return 3;
  for (std::size_t n = kOperandsMax; n > 1; --n) {
    const std::size_t begin = closure.offset + OffsetCalculator::AlignedBytes(n);
    const std::size_t end = begin + 8 * n;
    if (end > closure.offset + closure.bytes) continue;
    if (l.parameters.PointerCount(begin, end) == static_cast<int>(n)) return n;
  }
  return 1;
}

// A thread has a few elements, and stores each before it loads the next, which may be the same
// place. Instructions of an element and clocks between its loads are counted from the code for 9.0
// in libtorch_cuda 2.11 (`eidolon kernel explain`: copies, selections and sums in one and two
// dimensions). Words of torch.where are loaded once the condition says which.
void WaitForEachElement(const Launch& l, std::string_view functor, double elements,
                        Demand& demand) {
  constexpr double kInstructions = 46, kClocksOfThread = 100, kClocksOfElement = 140;
  constexpr double kWord = 4;
  const double lanes = std::max(1.0, l.threads());
  const double each = std::exp2(std::ceil(std::log2(std::max(1.0, elements / lanes))));
  const bool selects = functor.find("where_kernel_impl") != std::string_view::npos &&
                       FunctorWidths(functor, 2)[0] >= kWord;
  demand.instructions = kInstructions * elements;
  demand.dependent_loads = each * (selects ? 2 : 1);
  demand.dependent_bytes = demand.bytes;
  demand.dependent_clocks = kClocksOfThread + each * kClocksOfElement;
}

}  // namespace

// elementwise_kernel<threads, per_thread, F>(int N, F f); F is a lambda that holds an offset
// calculator, the data pointers and the functor.
std::optional<Demand> Strided(const Launch& l) {
  const auto elements = l.Size(0);
  const auto closure = l.parameters.Slot(1);
  if (!elements || !closure || l.name.templates.empty()) return std::nullopt;
  const std::string_view outer = l.name.templates.back();
  std::string_view functor = TemplateArguments(outer, "gpu_kernel_impl_nocast");
  const bool casts = functor.empty();
  if (casts) functor = TemplateArguments(outer, "gpu_kernel_impl");
  if (functor.empty()) functor = outer;
  const std::size_t operands = ClosureOperands(l, *closure, functor);
  Widths widths = FunctorWidths(functor, operands);
  widths.resize(operands, kDefaultBytes);
  if (casts) {
    const std::size_t behind_data =
        closure->offset + OffsetCalculator::AlignedBytes(operands) + 8 * operands;
    ReadDynamicTypes(l, behind_data, functor, widths);
  }
  Demand demand = Pointwise(functor, *elements, *elements * Sum(widths), widths);
  const std::vector<Axes> axes = AxesOf(l.parameters, closure->offset, widths.size());
  CountStrided(axes, widths, *elements, demand);
  if (!casts && !axes.empty()) {
    WaitForEachElement(l, functor, *elements, demand);
    return demand;
  }
  const bool one_dimension = !axes.empty() && axes[0].size() == 1;
  demand.address_operations = *elements * (casts           ? kOffsetCastOperations
                                           : one_dimension ? kOffsetOperationsOfOneDimension
                                                           : kOffsetOperations);
  demand.efficiency = 0.85;
  return demand;
}

// unrolled_elementwise_kernel_for_multi_outputs<outputs, F, array, ...>(int N, F, data, ...)
std::optional<Demand> MultiOutput(const Launch& l) {
  const auto elements = l.Size(0);
  if (!elements || l.name.templates.size() < 3) return std::nullopt;
  const Widths widths = FunctorWidths(l.Template(1), ArrayLength(l.Template(2)));
  return Pointwise(l.Template(1), *elements, *elements * Sum(widths), widths);
}

// elementwise_kernel_with_index<index, F>(N, F, out*): arange, linspace. Writes only.
std::optional<Demand> WithIndex(const Launch& l) {
  const auto elements = l.Size(0);
  if (!elements) return std::nullopt;
  Demand demand;
  demand.family = Family::kFill;
  demand.evidence = Evidence::kParameters;
  demand.bytes = *elements * 8;
  return demand;
}

// CatArrayBatchedCopy*<T, unsigned, dims, batch, strides, ...>(out, CatArrInputTensorMetadata,
// ...): one row of blocks (grid.y) an input.
std::optional<Demand> Cat(const Launch& l) {
  const auto metadata = l.parameters.Slot(1);
  const auto width = ElementBytes(l.Template(0));
  if (!metadata || !width || l.name.templates.size() < 5) return std::nullopt;
  std::size_t batch = 0;
  for (const char c : l.Template(3)) {
    if (c >= '0' && c <= '9' && batch < 4096)
      batch = batch * 10 + static_cast<std::size_t>(c - '0');
  }
  if (batch == 0 || l.launch.grid.y > batch) return std::nullopt;
  const bool wide = l.Template(1).find("long") != std::string_view::npos;
  const std::size_t index_bytes = wide ? 8 : 4;
  const torch_layout::ConcatenatedInputs inputs{.inputs = batch, .index = index_bytes};
  double elements = 0;
  for (std::size_t i = 0; i < l.launch.grid.y; ++i) {
    const std::size_t at = metadata->offset + inputs.CountsAt() + index_bytes * i;
    const auto count = wide ? l.parameters.At<std::uint64_t>(at)
                            : l.parameters.At<std::uint32_t>(at).transform(
                                  [](std::uint32_t v) { return std::uint64_t{v}; });
    if (!count) return std::nullopt;
    elements += static_cast<double>(*count);
  }
  Demand demand;
  demand.family = Family::kCopy;
  demand.evidence = Evidence::kParameters;
  demand.bytes = 2 * elements * *width;
  demand.efficiency = 0.94;
  // Inputs whose elements do not lie in a row: 203 G elements/s on H100 (published, as above).
  constexpr double kStridedCatOperations = 82;
  if (l.name.base == "CatArrayBatchedCopy") {
    demand.address_operations = kStridedCatOperations * elements;
  }
  return demand;
}

// split_with_sizes_copy_out_contiguous_no_cast_kernel(dst**, src**, 3 tables, src_stride,
// num_chunks): FSDP2's copy out of the all-gather buffer.
std::optional<Demand> SplitCopy(const Launch& l) {
  const auto stride = l.Size(5);
  const auto chunks = l.Size(6);
  if (!stride || !chunks) return std::nullopt;
  Demand demand;
  demand.family = Family::kCopy;
  demand.evidence = Evidence::kParameters;
  demand.bytes = 2 * *stride * *chunks;
  demand.efficiency = 0.9;
  return demand;
}

// chunk_cat_cuda_kernel<dst_t, src_t>(src**, dst*, 6 tables, slice_size, chunk_size, ratio): grid.z
// slices; FSDP2's copy into the reduce-scatter buffer, with a cast.
std::optional<Demand> ChunkCat(const Launch& l) {
  const auto slice = l.Size(8);
  const auto ratio = l.Size(10);
  if (!slice || !ratio || *ratio > 16) return std::nullopt;
  Demand demand;
  demand.family = Family::kCopy;
  demand.evidence = Evidence::kParameters;
  demand.bytes = *slice * l.launch.grid.z * (1 + 1 / *ratio);
  demand.efficiency = 0.9;
  return demand;
}

// transpose_copy_tiled_kernel<T, ...>(in, out, four sizes): rows and columns are the first two.
std::optional<Demand> TransposeCopy(const Launch& l) {
  const auto rows = l.Size(2);
  const auto columns = l.Size(3);
  if (!rows || !columns) return std::nullopt;
  Demand demand;
  demand.family = Family::kCopy;
  demand.evidence = Evidence::kGrid;
  demand.bytes = 2 * *rows * *columns * WidthOr(l.Template(0), kDefaultBytes) * l.launch.grid.z;
  demand.efficiency = 0.7;
  return demand;
}

}  // namespace eidolon::timing::kernel
