// A kernel is recognised by parts of its mangled name, and its numbers are read at the offsets that
// PyTorch's sources give its parameters. Neither is an interface: a release that changes them must
// lead to no result rather than to a wrong one, so the name has to end with the expected parameter
// types and each number has to be possible. The values are the least informed guesses: ln C is the
// cross-entropy of equal probabilities over C classes.
#include "shim/value/compute/plausible_results.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "services/contract/torch_layout/reduction.h"

namespace eidolon::shim::compute {
namespace {

using ring::ElementType;

constexpr std::string_view kClassLossName = "nll_loss_forward_reduce_cuda_kernel_";
constexpr double kMostClasses = 1e9;
constexpr double kMostFrames = 1e12;

// Parses a type's mangled name at the beginning of the text.
std::optional<ElementType> TypeAt(std::string_view text) {
  if (text.starts_with("f")) return ElementType::kFloat32;
  if (text.starts_with("d")) return ElementType::kFloat64;
  if (text.starts_with("N3c104HalfE")) return ElementType::kFloat16;
  if (text.starts_with("N3c108BFloat16E")) return ElementType::kBfloat16;
  return std::nullopt;
}

std::optional<double> IntegerAt(std::span<const std::byte> parameters, std::size_t at,
                                double most) {
  std::int64_t number = 0;
  if (parameters.size() < at + sizeof(number)) return std::nullopt;
  std::memcpy(&number, parameters.data() + at, sizeof(number));
  const auto result = static_cast<double>(number);
  if (result < 1 || result > most) return std::nullopt;
  return result;
}

// output, total_weight, input, target, weights, size_average, then 64-bit sizes: of the first form
// n_classes and ignore_index, of the second nframe, ndim, n_classes and ignore_index
// (aten/src/ATen/native/cuda/Loss.cu).
std::optional<value::PlausibleResult> ClassLoss(std::string_view mangled,
                                                std::span<const std::byte> parameters) {
  constexpr std::size_t kSizeAverage = 40;
  constexpr std::size_t kFirstSize = 48;
  const std::string_view behind =
      mangled.substr(mangled.find(kClassLossName) + kClassLossName.size());
  const bool frames = behind.starts_with("2dI");
  if (!frames && !behind.starts_with("1dI")) return std::nullopt;
  if (!mangled.ends_with(frames ? "bllll" : "bll")) return std::nullopt;
  const auto type = TypeAt(behind.substr(3));
  const auto classes = IntegerAt(parameters, kFirstSize + (frames ? 16 : 0), kMostClasses);
  if (!type || !classes || *classes < 2) return std::nullopt;
  double terms = 1;
  if (frames && parameters[kSizeAverage] == std::byte{0}) {
    const auto count = IntegerAt(parameters, kFirstSize, kMostFrames);
    if (!count) return std::nullopt;
    terms = *count;
  }
  return value::PlausibleResult{.value = terms * std::log(*classes), .type = *type};
}

// ReduceOp<input, Ops<...>, unsigned int, output, ...>.
std::optional<ElementType> OutputOfReduction(std::string_view mangled) {
  constexpr std::string_view kOperation = "ReduceOpI";
  constexpr std::string_view kIndex = "EEj";
  const std::size_t operation = mangled.find(kOperation);
  if (operation == std::string_view::npos) return std::nullopt;
  const std::string_view input = mangled.substr(operation + kOperation.size());
  const std::size_t index = input.find(kIndex);
  if (index == std::string_view::npos) return std::nullopt;
  const std::string_view output = input.substr(index + kIndex.size());
  // A substitution stands for the type of the input, the only one before it that has a name of its
  // own.
  return TypeAt(output.starts_with("S") ? input : output);
}

// A reduction of everything to one number. Its ReduceConfig is found by its threads, which it tells
// twice.
bool GivesOneNumber(std::span<const std::byte> parameters) {
  using torch_layout::ReduceConfig;
  constexpr std::int32_t kMostThreadsOfBlock = 1024;
  constexpr std::int32_t kWidestElement = 16;
  for (std::size_t at = 0;
       at <= ReduceConfig::kLatest && at + ReduceConfig::kBytes <= parameters.size(); at += 4) {
    const auto word = [&](std::size_t i) {
      std::int32_t value = 0;
      std::memcpy(&value, parameters.data() + at + sizeof(value) * i, sizeof(value));
      return value;
    };
    const std::int32_t element = word(0);
    const bool found = ReduceConfig::Fits(word) && element > 0 && element <= kWidestElement &&
                       word(ReduceConfig::kThreads) <= kMostThreadsOfBlock;
    if (found) return word(ReduceConfig::kOutputs) == 1;
  }
  return false;
}

// XLA names a kernel after what it computes last: loop_multiply_fusion_3, wrapped_sqrt.
PlausibleKind KindOfXla(std::string_view name) {
  for (const std::string_view begin : {"loop_", "wrapped_"}) {
    if (!name.starts_with(begin)) continue;
    const std::string_view rest = name.substr(begin.size());
    const std::string_view operation = rest.substr(0, rest.find('_'));
    if (operation == "sqrt") return PlausibleKind::kNormOfXla;
    if (operation == "multiply" || operation == "divide" || operation == "negate") {
      return PlausibleKind::kMeanOfXla;
    }
  }
  return PlausibleKind::kNone;
}

}  // namespace

PlausibleKind PlausibleKindOf(std::string_view mangled) {
  if (const PlausibleKind kind = KindOfXla(mangled); kind != PlausibleKind::kNone) return kind;
  const auto has = [&](std::string_view part) {
    return mangled.find(part) != std::string_view::npos;
  };
  if (has(kClassLossName)) return PlausibleKind::kClassLoss;
  if (!has("13reduce_kernelI")) return PlausibleKind::kNone;
  if (has("7MeanOpsI")) return PlausibleKind::kMean;
  if (has("11sum_functorI")) return PlausibleKind::kSum;
  if (has("7NormOpsI") || has("10NormOneOpsI") || has("10NormTwoOpsI")) return PlausibleKind::kNorm;
  return PlausibleKind::kNone;
}

std::optional<value::PlausibleResult> PlausibleResultOf(PlausibleKind kind,
                                                        std::string_view mangled,
                                                        std::span<const std::byte> parameters) {
  if (kind == PlausibleKind::kNone) return std::nullopt;
  if (kind == PlausibleKind::kClassLoss) return ClassLoss(mangled, parameters);
  // Neither name nor parameters tell the type: what XLA computes in, unless it is told otherwise.
  if (IsOfOneThread(kind)) {
    return value::PlausibleResult{.value = kind == PlausibleKind::kMeanOfXla ? 0.5 : 1.0,
                                  .type = ElementType::kFloat32};
  }
  const auto type = OutputOfReduction(mangled);
  if (!type || (kind == PlausibleKind::kSum && !GivesOneNumber(parameters))) return std::nullopt;
  return value::PlausibleResult{.value = kind == PlausibleKind::kMean ? 0.5 : 1.0, .type = *type};
}

}  // namespace eidolon::shim::compute
