// Kernels that work row by row: reductions, softmax, normalisation, losses.
#include <algorithm>
#include <cmath>

#include "services/contract/torch_layout/reduction.h"
#include "services/contract/torch_layout/tensor_view.h"
#include "services/timing/kernel/accessor.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/row_efficiency.h"
#include "services/timing/kernel/rules.h"

namespace eidolon::timing::kernel {
namespace {

using torch_layout::ReduceConfig;

Demand Rows(Family family, double bytes, double elements, Evidence evidence) {
  Demand demand;
  demand.family = family;
  demand.evidence = evidence;
  demand.bytes = bytes;
  demand.flops = elements * 10;
  return demand;
}

// Of rows, and of whole tensors whose blocks share an output: on H200 single precision is read at
// 4.0 and 4.3 TB/s. 16 bits take the time of adding them: 0.58 ps an element of rows, 0.61 where
// maxima look for NaN, and 0.49 where whole tensors are summed up (256 M elements; e2e/measured).
double ReduceOperations(std::string_view name, bool shared) {
  return shared && name.find("NanFunctor") == std::string_view::npos ? 24 : 29;
}

double ReduceEfficiency(bool columns, bool shared) {
  if (columns) return 0.85;
  return shared ? 1.0 : 0.9;
}

}  // namespace

// reduce_kernel<threads, vec, ReduceOp<T, ops, index, out, ...>>(ReduceOp): its ReduceConfig is
// found by the block's shape, which it repeats.
std::optional<Demand> Reduce(const Launch& l) {
  const auto arguments = SplitTopLevel(TemplateArguments(l.name.full, "ReduceOp"));
  if (arguments.size() < 4) return std::nullopt;
  const double input = ElementBytes(arguments[0]).value_or(4);
  const double output = ElementBytes(arguments[3]).value_or(4);
  for (std::size_t at = 0;
       at <= ReduceConfig::kLatest && at + ReduceConfig::kBytes <= l.parameters.size(); at += 4) {
    const auto word = [&](std::size_t i) {
      return l.parameters.At<std::int32_t>(at + 4 * i).value_or(0);
    };
    const std::int32_t width = word(ReduceConfig::kBlockWidth);
    const std::int32_t height = word(ReduceConfig::kBlockHeight);
    const std::int32_t inputs = word(ReduceConfig::kInputs);
    const std::int32_t outputs = word(ReduceConfig::kOutputs);
    const bool found = width == static_cast<std::int32_t>(l.launch.block.x) &&
                       height == static_cast<std::int32_t>(l.launch.block.y) &&
                       ReduceConfig::Fits(word);
    if (!found) continue;
    const double elements = static_cast<double>(inputs) * outputs;
    Demand demand = Rows(Family::kReduction, elements * input + outputs * output, elements,
                         Evidence::kParameters);
    // The threads of a block meet in shared memory, which lasts as long as three round trips to
    // memory (published: 141 elements 3.7 us, 8944 in one block 4.1; e2e/validation/operators.csv);
    // blocks that share an output meet through memory and a semaphore, and threads of the last of
    // them add up what all have left there, one after the other (0.33 us each on H200: column sums
    // of 128 to 200704 rows, e2e/measured).
    constexpr double kStepsOfPartialSum = 0.55;
    const double sharing = word(ReduceConfig::kBlocksPerOutput);
    demand.serial_steps = sharing > 1 ? 7 : 4;
    if (sharing > 1) {
      const bool by_lanes = word(ReduceConfig::kInputMultiple) != 0;
      demand.serial_steps += kStepsOfPartialSum * sharing / (by_lanes ? width * height : height);
    }
    demand.efficiency = ReduceEfficiency(word(ReduceConfig::kOutputMultiple) != 0, sharing > 1);
    if (word(ReduceConfig::kOutputMultiple) == 0) {
      demand.flops = elements * ReduceOperations(l.name.full, sharing > 1);
    }
    return demand;
  }
  return std::nullopt;
}

// softmax_warp_forward(dst, src, batch, stride, elements, ...), softmax_warp_backward(gi, g, out,
// batch, stride, elements, ...): a warp a row, up to 1024 (2048) elements.
std::optional<Demand> SoftmaxWarp(const Launch& l) {
  const bool backward = l.name.base == "softmax_warp_backward";
  const std::size_t first = backward ? 3 : 2;
  const auto rows = l.Size(first);
  const auto width = l.Size(first + 2);
  if (!rows || !width) return std::nullopt;
  double bytes = l.ElementBytesOf(0, 4) + l.ElementBytesOf(1, 4);
  if (backward) bytes += l.ElementBytesOf(2, 4);
  Demand demand =
      Rows(Family::kSoftmax, *rows * *width * bytes, *rows * *width, Evidence::kParameters);
  demand.efficiency = 0.95;
  // Rows of 16 bits take as long as those of 32: 1.8 to 2.2 ps an element on H200 (e2e/measured).
  constexpr double kOperations = 100;
  if (!backward) demand.flops = kOperations * *rows * *width;
  return demand;
}

namespace {

// Returns the operations of forward kernels that hold a row in registers or shared memory, per
// element at the FP32 rate; on H200, whatever the type, 3.15 ps for rows of up to 4096 elements in
// registers, 3.9 beyond, 1.9 in shared memory (e2e/measured). 0: memory alone decides.
double SoftmaxOperations(std::string_view base, double width) {
  constexpr double kShortRow = 4096;
  if (base == "cunn_SoftMaxForwardReg") return width <= kShortRow ? 160 : 200;
  if (base == "cunn_SoftMaxForwardSmem") return 98;
  return 0;
}
constexpr double kSharedBackwardEfficiency = 1.0;  // 4.3 TB/s on H200 (e2e/measured).

}  // namespace

// cunn_SoftMaxForward*(out, in, classes) and cunn_SoftMaxBackward*(gi, out, grad, classes): a block
// a row.
std::optional<Demand> SoftmaxRow(const Launch& l) {
  const bool backward = l.name.Has("Backward");
  const std::size_t last = backward ? 3 : 2;
  const auto width = l.Size(last);
  if (!width) return std::nullopt;
  double bytes = 0;
  for (std::size_t i = 0; i < last; ++i) bytes += l.ElementBytesOf(i, 4);
  const double rows = l.launch.grid.x;
  Demand demand =
      Rows(Family::kSoftmax, rows * *width * bytes, rows * *width, Evidence::kParameters);
  demand.efficiency = SoftmaxEfficiency(*width * l.ElementBytesOf(1, 4), backward);
  if (l.name.base == "cunn_SoftMaxBackwardSmem") demand.efficiency = kSharedBackwardEfficiency;
  if (const double each = SoftmaxOperations(l.name.base, *width); each > 0) {
    demand.flops = each * rows * *width;
  }
  return demand;
}

// cunn_SpatialSoftMax{Forward,Backward}(out, in[, grad], outer, dim, inner)
std::optional<Demand> SoftmaxSpatial(const Launch& l) {
  const std::size_t pointers = l.name.Has("Backward") ? 3 : 2;
  const auto outer = l.Size(pointers);
  const auto dim = l.Size(pointers + 1);
  const auto inner = l.Size(pointers + 2);
  if (!outer || !dim || !inner) return std::nullopt;
  const double elements = *outer * *dim * *inner;
  Demand demand =
      Rows(Family::kSoftmax, elements * l.ElementBytesOf(0, 4) * static_cast<double>(pointers + 1),
           elements, Evidence::kParameters);
  demand.efficiency = 0.6;
  return demand;
}

// Published layer norms on H100 (e2e/validation/operators.csv): 25089 short rows last 59.7 us, 0.29
// us a row and multiprocessor, whatever their bytes: threads of a row merge their means and
// variances, one after the other. A single row lasts 4.0 us: a thread's next piece waits for its
// last, in both passes.
constexpr double kMergeOperations = 37e3;
constexpr double kPieceElements = 4;
constexpr double kStepsOfPiece = 2;

// vectorized_layer_norm_kernel(int N, eps, X, ...), layer_norm_grad_input_kernel*(dY, X, mean,
// rstd, gamma, dX, int N): grid.x rows of N.
std::optional<Demand> NormRows(const Launch& l) {
  const bool backward = l.name.Has("grad_input");
  const auto width = l.Size(backward ? 6 : 0);
  if (!width) return std::nullopt;
  const double element = ElementBytes(l.Template(0)).value_or(4);
  const double elements = *width * l.launch.grid.x;
  Demand demand = Rows(Family::kNormalization, elements * element * (backward ? 3 : 2), elements,
                       Evidence::kParameters);
  demand.efficiency = backward ? LayerNormBackwardEfficiency(*width * element, element)
                               : LayerNormEfficiency(*width * element);
  if (!backward) {
    const double threads = static_cast<double>(l.launch.block.Count());
    // RMS norms add squares up, which takes no merging.
    const bool squares = l.Template(2) == "true";
    demand.address_operations = squares ? 0 : kMergeOperations * l.launch.grid.x;
    demand.serial_steps = kStepsOfPiece * std::ceil(*width / (threads * kPieceElements));
  } else {
    // A row is read for its sums and again, 512 elements at a time; clocks are counted from the
    // code for 9.0 in libtorch_cuda 2.11 (`eidolon kernel explain`).
    constexpr double kElements = 512, kClocksOfSums = 1080, kClocksOfElements = 200;
    const double pieces = std::max(1.0, *width / kElements);
    demand.dependent_loads = 2 * pieces;
    demand.dependent_bytes = demand.bytes;
    demand.dependent_clocks = kClocksOfSums + kClocksOfElements * pieces;
  }
  return demand;
}

// GammaBetaBackward*(long M, long N, dY, X, ...): column sums of two M x N matrices. A block has 32
// columns and all rows where grid.y is 1: 4.4 ns a row on H200, whatever the type (e2e/measured).
std::optional<Demand> NormGammaBeta(const Launch& l) {
  const auto rows = l.Size(0);
  const auto columns = l.Size(1);
  if (!rows || !columns) return std::nullopt;
  const double element = ElementBytes(l.Template(0)).value_or(4);
  Demand demand = Rows(Family::kNormalization, 2 * *rows * *columns * element, *rows * *columns,
                       Evidence::kParameters);
  demand.efficiency = element < 4 ? 0.68 : 1;
  constexpr double kOperationsOfRow = 520;
  demand.address_operations = kOperationsOfRow * *rows * l.launch.grid.x;
  return demand;
}

// RowwiseMoments*(long N, [..], T eps, const T* X, ...), LayerNormForward...,
// ComputeInternalGradients: grid.x rows of the largest size parameter.
std::optional<Demand> NormMoments(const Launch& l) {
  double width = 0;
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    width = std::max(width, l.Size(i).value_or(0));
  }
  if (width == 0) return std::nullopt;
  double element = 4;
  for (const std::string& type : l.name.templates) {
    if (const auto bytes = ElementBytes(type)) {
      element = *bytes;
      break;
    }
  }
  const double elements = width * l.launch.grid.x;
  const bool gradients = l.name.Has("Gradients");
  const double operands = gradients || l.name.Has("Forward") ? 2 : 1;
  Demand demand =
      Rows(Family::kNormalization, elements * element * operands, elements, Evidence::kGrid);
  // A thread takes an element after the other, and each waits for its load. Clocks between two
  // loads, and of what all threads of a block add up in the end: group norms of 2 x 320 x 128 x 128
  // on H100, 64 blocks of 320 steps in 136 us and two waves of 32 steps in 37 (e2e/measured).
  constexpr double kClocksOfMoment = 160, kClocksOfGradient = 250, kClocksOfSums = 2000;
  // RowwiseMomentsContiguous*<4, ...>, of newer versions, loads as many elements at once.
  const double together = l.name.Has("Contiguous") ? 4 : 1;
  const double lanes = static_cast<double>(l.launch.block.Count());
  const double steps = std::ceil(width / std::max(1.0, together * lanes));
  demand.cold_loads = steps;
  demand.dependent_clocks =
      steps * (gradients ? kClocksOfGradient : kClocksOfMoment) + (gradients ? kClocksOfSums : 0);
  return demand;
}

namespace {

// A block has a channel, or one of a member of the batch; its threads go along the members' planes,
// element by element, each of which waits for its load: clocks between two loads and of what all
// threads of a block add up in the end are counted from the code for 9.0 in libtorch_cuda 2.11
// (`eidolon kernel explain`). What the forward pass left is read from memory, what was just written
// or read from L2 where that holds it.
void WalkPlanes(const Launch& l, double elements, double inner, Demand& demand) {
  if (inner <= 0) return;
  constexpr double kClocksOfWelford = 340, kClocksOfGradient = 240, kClocksOfTransform = 60;
  constexpr double kClocksOfSums = 1700;
  const double planes = elements / inner / l.launch.grid.x;
  const double members = l.launch.block.y * l.launch.grid.y;
  const double steps = std::ceil(inner / l.launch.block.x) * std::ceil(planes / members);
  demand.dependent_bytes = demand.bytes;
  demand.dependent_loads = steps;
  demand.cold_loads = 1;  // Of a channel's own numbers.
  if (l.name.base == "batch_norm_collect_statistics_kernel") {
    demand.dependent_clocks = steps * kClocksOfWelford + kClocksOfSums;
  } else if (l.name.base == "batch_norm_backward_kernel") {
    demand.cold_loads += steps;
    demand.dependent_clocks = steps * kClocksOfGradient + kClocksOfSums;
  } else {
    demand.dependent_clocks = steps * kClocksOfTransform;
  }
}

}  // namespace

// batch_norm_*_kernel(accessor input, ...): every accessor of a whole tensor is read or written
// once.
std::optional<Demand> BatchNorm(const Launch& l) {
  // Published instance norm of 7168 planes on H100: 9.6 ms with its statistics, whose loads wait
  // for each other for 4.3 (e2e/validation/operators.csv).
  constexpr double kEfficiency = 0.93;
  double elements = 0;
  double inner = 0;
  for (std::size_t i = 0; i < l.name.parameters.size(); ++i) {
    const auto accessor = AccessorOf(l, i);
    if (!accessor || accessor->elements <= elements) continue;
    elements = accessor->elements;
    inner = accessor->dims > 2 ? accessor->inner : 0;
  }
  if (elements == 0) return std::nullopt;
  double bytes = 0;
  for (std::size_t i = 0; i < l.name.parameters.size(); ++i) {
    const auto accessor = AccessorOf(l, i);
    if (!accessor) continue;
    const auto arguments =
        SplitTopLevel(TemplateArguments(l.name.parameters[i], "GenericPackedTensorAccessor"));
    const double width = arguments.size() > 2 ? ElementBytes(arguments[2]).value_or(4) : 4;
    bytes += width * (accessor->dims > 2 ? elements : accessor->elements);
  }
  Demand demand = Rows(Family::kNormalization, bytes, elements, Evidence::kParameters);
  demand.efficiency = kEfficiency;
  WalkPlanes(l, elements, inner, demand);
  return demand;
}

// batch_norm_*_channels_last_kernel(T* ..., int reduction_size, int stride, ...): elements are the
// product of the first two sizes.
std::optional<Demand> BatchNormChannelsLast(const Launch& l) {
  double elements = 1;
  int sizes = 0;
  for (std::size_t i = 0; i < l.name.parameters.size() && sizes < 2; ++i) {
    const auto size = l.name.parameters[i].ends_with('*') ? std::nullopt : l.Size(i);
    if (!size) continue;
    elements *= *size;
    ++sizes;
  }
  if (sizes < 2) return std::nullopt;
  const double operands = l.name.Has("collect_statistics") ? 1
                          : l.name.Has("transform_input")  ? 2
                          : l.name.Has("backward_reduce")  ? 2
                                                           : 3;
  Demand demand =
      Rows(Family::kNormalization, elements * operands * ElementBytes(l.Template(0)).value_or(4),
           elements, Evidence::kParameters);
  demand.efficiency = 0.75;
  return demand;
}

// nll_loss_*: one gathered element a row; the reducing forms run in one block, step by step.
std::optional<Demand> NllLoss(const Launch& l) {
  double rows = 0;
  bool reduce = l.name.Has("reduce_cuda_kernel") && !l.name.Has("no_reduce");
  for (std::size_t i = 0; i < l.parameters.slot_count(); ++i) {
    const auto slot = l.parameters.Slot(i);
    if (slot->bytes < 4) continue;
    if (const auto size = l.Size(i)) {
      rows = *size;
      break;
    }
  }
  if (rows == 0) return std::nullopt;
  // A sector of the row, and the target's number. One block waits for both, one after the other: on
  // H100 16 such steps last 18.0 and 20.1 us over gigabytes, whose pages are not at hand, and 32
  // last 25.7 over half of one (e2e/measured/h100: gpt2 124M, counters.csv). A gradient waits for
  // the number alone, 16 steps of one warp 8.3 us, and its multiprocessor stores a sector a clock.
  constexpr double kBytesOfRow = 40, kLoads = 2.2, kLoadsOfGradient = 1;
  Demand demand = Rows(Family::kLoss, rows * kBytesOfRow, rows, Evidence::kParameters);
  if (reduce) {
    const double steps = std::ceil(rows / static_cast<double>(l.launch.block.Count()));
    demand.cold_loads = (l.name.Has("backward") ? kLoadsOfGradient : kLoads) * steps;
    if (l.name.Has("backward")) demand.clocks = rows;
  } else {
    demand.serial_steps = 2;
  }
  return demand;
}

// tensor_kernel_scan_innermost_dim(T* out, const T* in, unsigned rows, unsigned width, ...):
// threads of a row load two elements each, add them up in as many stages as doublings they have,
// and go on; all threads of a block wait for each other between the stages. Clocks of a warp that
// is alone and instructions are counted from the code for 9.0 in libtorch_cuda 2.11 (`eidolon
// kernel explain`).
std::optional<Demand> ScanRows(const Launch& l) {
  const auto rows = l.Size(2);
  const auto width = l.Size(3);
  if (!rows || !width) return std::nullopt;
  Demand demand = Rows(Family::kScan, *rows * *width * 2 * l.ElementBytesOf(0, 4), *rows * *width,
                       Evidence::kParameters);
  constexpr double kClocksOfPiece = 331, kClocksOfStage = 120;
  constexpr double kInstructionsOfPiece = 70, kInstructionsOfStage = 25.4;
  const double lanes = l.launch.block.x;
  const double pieces =
      std::ceil(*width / (2 * lanes)) *
      std::ceil(*rows / (static_cast<double>(l.launch.block.y) * l.launch.grid.x));
  const double stages = std::floor(std::log2(std::max(1.0, lanes))) + 1;
  demand.in_step = true;
  demand.dependent_loads = pieces;
  demand.dependent_bytes = demand.bytes;
  demand.dependent_clocks = pieces * (kClocksOfPiece + kClocksOfStage * stages);
  demand.instructions =
      l.threads() * pieces * (kInstructionsOfPiece + kInstructionsOfStage * stages);
  return demand;
}

}  // namespace eidolon::timing::kernel
