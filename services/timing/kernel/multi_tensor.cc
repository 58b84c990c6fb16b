// Kernels over lists of tensors: fused optimizers, foreach operations, norms, gradient scaling.
#include <algorithm>
#include <cmath>
#include <string>

#include "services/contract/torch_layout/optimizer_lists.h"
#include "services/contract/torch_layout/tensor_list.h"
#include "services/timing/kernel/element_type.h"
#include "services/timing/kernel/rules.h"
#include "services/timing/kernel/work_counts.h"

namespace eidolon::timing::kernel {
namespace {

using torch_layout::ArgumentSpace;
using torch_layout::ListRole;
using torch_layout::TensorLists;

std::size_t Digit(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos || at + word.size() >= text.size()) return 0;
  const char c = text[at + word.size()];
  return c >= '1' && c <= '5' ? static_cast<std::size_t>(c - '0') : 0;
}

// Elements that the launch's blocks really touch; nothing when the tables make no sense, which is
// how a wrong layout is noticed.
std::optional<double> Elements(const Launch& l, std::size_t at, const TensorLists& lists,
                               double chunk) {
  const std::size_t blocks = l.launch.grid.x;
  if (blocks > lists.blocks) return std::nullopt;
  const std::size_t owners = at + lists.OwnersAt();
  const std::size_t chunks = at + lists.ChunksAt();
  double elements = 0;
  for (std::size_t b = 0; b < blocks; ++b) {
    const auto tensor =
        lists.tensor_index_bytes == 2
            ? l.parameters.At<std::uint16_t>(owners + 2 * b)
            : l.parameters.At<std::uint8_t>(owners + b).transform([](std::uint8_t v) {
                return std::uint16_t{v};
              });
    const auto index = l.parameters.At<std::int32_t>(chunks + 4 * b);
    if (!tensor || !index || *tensor >= lists.tensors || *index < 0) return std::nullopt;
    const std::size_t count = at + lists.CountsAt() + lists.count_bytes * *tensor;
    const auto numel = lists.count_bytes == 8 ? l.parameters.At<std::int64_t>(count)
                                              : l.parameters.At<std::int32_t>(count).transform(
                                                    [](std::int32_t v) { return std::int64_t{v}; });
    if (!numel || *numel <= 0) return std::nullopt;
    const double left = static_cast<double>(*numel) - chunk * *index;
    if (left <= 0) return std::nullopt;
    elements += std::min(left, chunk);
  }
  return elements;
}

struct Traffic {
  double bytes = 0;  // Per element.
  Family family = Family::kForeach;
};

// Bytes per element by functor: how many of the lists it reads and writes.
Traffic FunctorTraffic(std::string_view functor, std::string_view kernel, std::size_t depth) {
  const std::size_t open = functor.find('<');
  const auto arguments =
      open == std::string_view::npos
          ? std::vector<std::string>{}
          : SplitTopLevel(functor.substr(open + 1, functor.rfind('>') - open - 1));
  double width = 4;
  for (const std::string& type : arguments) {
    if (const auto bytes = ElementBytes(type)) {
      width = *bytes;
      break;
    }
  }
  const auto has = [&](std::string_view word) { return functor.find(word) != std::string::npos; };
  const double lists = static_cast<double>(depth);
  if (has("Adam") || has("Sgd") || has("SGD") || has("Adagrad") || has("LAMB") || has("Novograd")) {
    // All lists are read; all but the gradient are written.
    return {width * (2 * lists - 1), Family::kOptimizer};
  }
  if (has("LpNorm") || has("LpMax") || has("L2Norm") || has("MaxNorm")) {
    return {width, Family::kReduction};
  }
  if (has("CopyFunctor") && arguments.size() >= 2) {
    return {ElementBytes(arguments[0]).value_or(4) + ElementBytes(arguments[1]).value_or(4),
            Family::kForeach};
  }
  // <T, depth, r_args_depth, res_arg_index>: reads r_args_depth lists and writes one.
  if (arguments.size() >= 4 && arguments[2].size() == 1 && arguments[2][0] >= '1' &&
      arguments[2][0] <= '5') {
    // Optimizers that use addcmul with one factor for all tensors (Adam, RMSprop, Adagrad,
    // Adadelta) square a list: both factors are the same memory.
    const bool squares =
        has("PointwiseOpScalarFunctor") && kernel.find("multiplies") != kernel.npos;
    return {width * (arguments[2][0] - '0' + (squares ? 0 : 1)), Family::kForeach};
  }
  return {width * std::max(lists, 2.0), Family::kForeach};
}

std::size_t ScalarBytes(std::string_view metadata) {
  const auto arguments = SplitTopLevel(metadata);
  return arguments.empty() ? 4 : static_cast<std::size_t>(ElementBytes(arguments[0]).value_or(4));
}

// Layouts to try for PyTorch's metadata type, the CUDA 13 one first.
std::optional<double> TorchElements(const Launch& l, std::string_view metadata) {
  const bool fused = metadata.find("FusedOptimizer") != std::string_view::npos;
  const bool scalars = metadata.find("ScalarListMetadata") != std::string_view::npos;
  std::size_t depth = 0;
  std::size_t extra = fused ? 8 : 0;
  if (scalars) {
    const auto inner = TemplateArguments(metadata, "TensorListScalarListMetadata");
    extra = ScalarBytes(inner);
    const auto arguments = SplitTopLevel(inner);
    if (arguments.size() == 2 && arguments[1].size() == 1) {
      depth = static_cast<std::size_t>(arguments[1][0] - '0');
    }
  } else {
    depth = Digit(metadata, "Metadata<");
  }
  const auto slot = l.parameters.Slot(0);
  if (!slot || depth < 1 || depth > TensorLists::kDepthMax) return std::nullopt;
  for (const auto space : {ArgumentSpace::kLarge, ArgumentSpace::kSmall}) {
    const TensorLists lists = torch_layout::TorchLists(depth, extra, scalars, space);
    if (const auto found = Elements(l, slot->offset, lists, TensorLists::kChunk)) return found;
  }
  return std::nullopt;
}

// multi_tensor_apply_kernel(int chunk, volatile int* noop, TensorListMetadata<n>, functor, ...) of
// apex: {void* addresses[n][max]; int sizes[max]; uint8 block_to_tensor[320]; int
// block_to_chunk[320]}. Transformer Engine's chunk and sizes are 64 bits wide.
std::optional<double> ApexElements(const Launch& l) {
  const auto chunk = l.Size(0);
  const auto slot = l.parameters.Slot(2);
  const std::size_t depth = Digit(l.name.full, "TensorListMetadata<");
  if (!chunk || !slot || depth == 0) return std::nullopt;
  const std::size_t count_bytes = l.name.parameters[0] == "long" ? 8 : 4;
  return Elements(l, slot->offset, torch_layout::ApexLists(depth, count_bytes), *chunk);
}

// A block walks through its chunk, four elements of every list a thread at a time, and waits for
// them each time. On H200 64 blocks of two lists take 13 to 20 us, and 320 take 46, 4.8 TB/s more;
// norms, which store nothing, 7 and 23. Lists of 16 bits, 2.8 TB/s, gave no number (e2e/measured).
constexpr double kElementsOfThread = 4;
constexpr double kStepsOfPiece = 0.45;
constexpr double kStepsOfPieceRead = 0.25;

// Fused optimizers move so much at a time that waiting hides behind it: 28 blocks take 39 us, more
// of them 3.5 of 4.8 TB/s (e2e/measured).
constexpr double kStepsOfFusedPiece = 2;
constexpr double kFusedEfficiency = 0.82;

void Wait(const Launch& l, double elements, const Traffic& traffic, bool fused, Demand& demand) {
  const double each = elements / static_cast<double>(l.launch.grid.Count());
  const double pieces =
      std::ceil(each / (static_cast<double>(l.launch.block.Count()) * kElementsOfThread));
  if (fused) {
    demand.efficiency = kFusedEfficiency;
    demand.wave_steps = pieces * kStepsOfFusedPiece;
    return;
  }
  const bool reads = traffic.family == Family::kReduction;
  demand.serial_steps = pieces * (reads ? kStepsOfPieceRead : kStepsOfPiece);
}

}  // namespace

std::optional<Demand> MultiTensor(const Launch& l) {
  const bool apex =
      !l.name.parameters.empty() && l.name.parameters[0].find("Metadata") == std::string::npos;
  const std::string_view functor = l.Template(1);
  const std::string_view metadata = l.Template(0);
  const std::size_t depth = std::max<std::size_t>(Digit(l.name.full, "Metadata<"), 1);
  const auto exact = apex ? ApexElements(l) : TorchElements(l, metadata);
  const Traffic traffic = FunctorTraffic(functor, l.name.full, depth);
  Demand demand;
  demand.family = traffic.family;
  demand.evidence = exact ? Evidence::kParameters : Evidence::kGrid;
  // If no layout fits, chunks count as full, the most that the blocks can touch.
  const double elements = exact.value_or(l.launch.grid.x * TensorLists::kChunk);
  demand.bytes = elements * traffic.bytes;
  demand.flops = elements * (traffic.family == Family::kOptimizer ? 30 : 4);
  Wait(l, elements, traffic, metadata.find("FusedOptimizer") != std::string_view::npos, demand);
  return demand;
}

std::optional<WorkCounts> OptimizerStep(const KernelLaunch& launch, const KernelName& name) {
  if (name.base != "multi_tensor_apply_kernel") return std::nullopt;
  const bool apex =
      !name.parameters.empty() && name.parameters[0].find("Metadata") == std::string::npos;
  const auto lists = torch_layout::FindOptimizerLists(name.full, apex);
  if (!lists) return std::nullopt;
  const Launch l{launch, name, Parameters(launch)};
  const auto elements = apex ? ApexElements(l) : TorchElements(l, l.Template(0));
  if (!elements) return std::nullopt;
  const double bytes = *elements * static_cast<double>(lists->element_bytes);
  const auto all = [&](ListRole role) { return bytes * static_cast<double>(lists->CountOf(role)); };
  return WorkCounts{.parameters = all(ListRole::kParameters),
                    .gradients = all(ListRole::kGradients),
                    .optimizer_state = all(ListRole::kState)};
}

// lpnorm_cleanup(partial sums, addresses, sizes, int max_chunks): one block a tensor.
std::optional<Demand> LpNormCleanup(const Launch& l) {
  const auto chunks = l.Size(3);
  Demand demand;
  demand.family = Family::kReduction;
  demand.evidence = chunks ? Evidence::kParameters : Evidence::kGrid;
  demand.bytes = l.launch.grid.x * (chunks.value_or(1) * 4 + 8);
  demand.serial_steps = 3;
  return demand;
}

}  // namespace eidolon::timing::kernel
