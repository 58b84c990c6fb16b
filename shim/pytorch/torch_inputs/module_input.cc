#include "shim/pytorch/torch_inputs/module_input.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

namespace eidolon::shim::torch_inputs {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::size_t kTensorsMax = 64;
constexpr int kDepthMax = 3;         // Of arguments within arguments.
constexpr int kModuleDepthMax = 64;  // Of modules within modules.
constexpr std::size_t kModulesMax = 1 << 16;

bool IsSequence(const Python& python, void* object) {
  return HasType(python, object, python.list_type) || HasType(python, object, python.tuple_type);
}

// Calls `use` with each element, until it returns false.
template <typename Use>
void ForEach(const Python& python, void* sequence, Use use) {
  const std::ptrdiff_t size = python.size(sequence);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    const Reference element(python, python.sequence_item(sequence, i));
    if (!element || !use(element.get())) return;
  }
}

// Collects the sizes of all tensors in an argument that have a dimension. False: there are tensors
// of a subclass, or too many.
bool Collect(const Python& python, void* object, int depth, std::vector<Sizes>* found) {
  if (const auto sizes = SizesOf(python, object)) {
    if (!sizes->empty()) found->push_back(*sizes);
    return found->size() <= kTensorsMax;
  }
  if (IsTensor(python, object)) return false;
  const bool is_dict = HasType(python, object, python.dict_type);
  if (depth == kDepthMax || (!is_dict && !IsSequence(python, object))) return true;
  const Reference values(python, is_dict ? python.dict_values(object) : nullptr);
  bool complete = true;
  ForEach(python, is_dict ? values.get() : object, [&](void* element) {
    complete = Collect(python, element, depth + 1, found);
    return complete;
  });
  return complete;
}

// Detectors take a list of images of different sizes.
std::optional<std::uint64_t> ImagesIn(const Python& python, void* arguments) {
  constexpr std::size_t kImageDimensions = 3;
  if (python.size(arguments) < 1) return std::nullopt;
  const Reference first(python, python.sequence_item(arguments, 0));
  if (!first || !HasType(python, first.get(), python.list_type)) return std::nullopt;
  std::uint64_t images = 0;
  bool are_images = true;
  ForEach(python, first.get(), [&](void* element) {
    const auto sizes = SizesOf(python, element);
    are_images = sizes && sizes->size() == kImageDimensions;
    images += are_images ? 1 : 0;
    return are_images;
  });
  return are_images && images > 0 ? std::optional(images) : std::nullopt;
}

bool LooksForSequencesFirst(const Python& python, void* module, int depth, std::size_t* looked) {
  if (++*looked > kModulesMax || depth > kModuleDepthMax) return true;
  void* const batch_first = FieldOf(python, module, "batch_first");
  if (batch_first != nullptr && python.is_true(batch_first) == 0) return true;
  void* const parts = FieldOf(python, module, "_modules");
  if (parts == nullptr) return false;
  const Reference modules(python, python.dict_values(parts));
  bool found = false;
  if (modules) {
    ForEach(python, modules.get(), [&](void* part) {
      found = LooksForSequencesFirst(python, part, depth + 1, looked);
      return !found;
    });
  }
  return found;
}

// Kept by the module's address; another module at the same place, later, is taken to be like it.
bool HasSequencesFirst(const Python& python, void* module) {
  static auto* const known =
      new std::unordered_map<void*, bool>;  // The interpreter's lock guards it.
  const auto [found, is_new] = known->try_emplace(module, false);
  std::size_t looked = 0;
  if (is_new) found->second = LooksForSequencesFirst(python, module, 0, &looked);
  return found->second;
}

// The first dimension that all have in common; one of size 1 is repeated for each sample.
std::optional<std::int64_t> CommonSize(const std::vector<Sizes>& tensors) {
  std::optional<std::int64_t> common;
  for (const Sizes& sizes : tensors) {
    if (sizes.front() == 1 && tensors.size() > 1) continue;
    if (common.value_or(sizes.front()) != sizes.front()) return std::nullopt;
    common = sizes.front();
  }
  if (!common && !tensors.empty()) return 1;
  return common;
}

}  // namespace

void* FieldOf(const Python& python, void* module, const char* name) {
  const Reference fields(python, python.attribute(module, "__dict__"));
  return fields ? python.dict_item(fields.get(), name) : nullptr;  // The module keeps its fields.
}

ModuleInput InputOf(const Python& python, void* module, void* arguments, void* named_arguments) {
  constexpr std::size_t kSequenceDimensions = 3;
  if (void* const ids = python.dict_item(named_arguments, "input_ids")) {
    const auto sizes = SizesOf(python, ids);
    if (sizes && sizes->size() == 2) {
      const auto samples = static_cast<std::uint64_t>(sizes->front());
      return {.samples = samples, .tokens = samples * static_cast<std::uint64_t>(sizes->back())};
    }
  }
  if (const auto images = ImagesIn(python, arguments)) return {.samples = *images};
  std::vector<Sizes> tensors;
  if (!Collect(python, arguments, 0, &tensors) || !Collect(python, named_arguments, 0, &tensors) ||
      tensors.empty()) {
    return {};
  }
  const std::size_t dimensions = tensors.front().size();
  const bool may_be_sequence = dimensions == kSequenceDimensions || dimensions == 2;
  const std::optional<std::int64_t> common = CommonSize(tensors);
  if (!common || (may_be_sequence && HasSequencesFirst(python, module))) return {};
  return {.samples = static_cast<std::uint64_t>(*common)};
}

}  // namespace eidolon::shim::torch_inputs
