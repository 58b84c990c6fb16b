// A report says how much memory parameters, gradients and optimizer state take, and only an
// optimizer's kernel knows which tensor is which. The role of a list follows from the functor's
// name: PyTorch passes parameters first, apex gradients first. Widths come from the types in the
// name, and lists of different widths are refused, because the tables hold numbers of elements
// alone. Only tensors that a launched block works on count; the rest of the tables is whatever
// stood on the stack.
#include "services/contract/torch_layout/optimizer_lists.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "services/contract/torch_layout/type_name.h"

namespace eidolon::torch_layout {
namespace {

constexpr std::size_t kAddressBytes = 8;

// Bytes of an element where all element types that the functor names are equally wide; 0 otherwise.
std::size_t CommonWidth(std::string_view functor) {
  const std::size_t open = functor.find('<');
  if (open == std::string_view::npos) return 0;
  double width = 0;
  for (const std::string& type :
       SplitTopLevel(functor.substr(open + 1, functor.rfind('>') - open - 1))) {
    const auto bytes = ElementBytes(type);
    if (!bytes || type == "int" || type == "bool" || type == "long") continue;
    if (width > 0 && width != *bytes) return 0;
    width = *bytes;
  }
  return static_cast<std::size_t>(width);
}

std::size_t DepthOf(std::string_view metadata) {
  constexpr std::string_view kWord = "Metadata<";
  const std::size_t at = metadata.find(kWord);
  if (at == std::string_view::npos || at + kWord.size() >= metadata.size()) return 0;
  const char digit = metadata[at + kWord.size()];
  return digit >= '1' && digit <= '5' ? static_cast<std::size_t>(digit - '0') : 0;
}

using Roles = std::array<ListRole, TensorLists::kDepthMax>;

std::optional<Roles> RolesOf(std::string_view functor, std::string_view name, std::size_t depth,
                             bool is_apex) {
  using enum ListRole;
  const auto has = [functor](std::string_view word) {
    return functor.find(word) != std::string_view::npos;
  };
  const auto computes = [name](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  };
  if (has("Adam") || has("Sgd") || has("SGD") || has("Adagrad")) {
    if (depth < 2) return std::nullopt;
    Roles roles{};
    roles[0] = is_apex ? kGradients : kParameters;
    roles[1] = is_apex ? kParameters : kGradients;
    std::fill(roles.begin() + 2, roles.begin() + static_cast<std::ptrdiff_t>(depth), kState);
    return roles;
  }
  // Adam moves its mean towards the gradients, adds their squares, and moves the parameters.
  if (has("TernaryOp") && computes("Lerp")) return Roles{kState, kGradients};
  if (!has("PointwiseOp")) return std::nullopt;
  if (computes("multiplies")) return Roles{kState};
  if (computes("divides")) return Roles{kParameters};
  return std::nullopt;
}

template <typename T>
T ReadNumber(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

std::size_t OptimizerLists::CountOf(ListRole role) const {
  return static_cast<std::size_t>(std::ranges::count(roles, role));
}

std::optional<OptimizerLists> FindOptimizerLists(std::string_view name, bool is_apex) {
  const auto arguments = SplitTopLevel(TemplateArguments(name, "multi_tensor_apply_kernel"));
  if (arguments.size() < 2) return std::nullopt;
  const std::string& functor = arguments[1];
  const auto roles = RolesOf(functor, name, DepthOf(arguments[0]), is_apex);
  const std::size_t width = CommonWidth(functor);
  if (!roles || width == 0) return std::nullopt;
  return OptimizerLists{.roles = *roles, .element_bytes = width};
}

std::vector<ListedTensor> ListTensors(const OptimizerLists& optimizer, const TensorLists& lists,
                                      std::span<const std::byte> structure,
                                      std::uint32_t launched) {
  if (structure.size() < lists.BytesOfTables() || launched > lists.blocks) return {};
  std::vector<bool> is_worked_on(lists.tensors);
  for (std::size_t block = 0; block < launched; ++block) {
    const std::size_t owner = lists.OwnerOf(structure.data() + lists.OwnersAt(), block);
    if (owner >= lists.tensors) return {};
    is_worked_on[owner] = true;
  }
  std::vector<ListedTensor> found;
  for (std::size_t tensor = 0; tensor < lists.tensors; ++tensor) {
    if (!is_worked_on[tensor]) continue;
    const std::byte* const count = structure.data() + lists.CountsAt() + lists.count_bytes * tensor;
    const std::int64_t elements = lists.count_bytes == 8
                                      ? ReadNumber<std::int64_t>(count)
                                      : std::int64_t{ReadNumber<std::int32_t>(count)};
    if (elements <= 0) return {};
    for (std::size_t list = 0; list < lists.depth; ++list) {
      if (optimizer.roles[list] == ListRole::kOther) continue;
      found.push_back({.address = ReadNumber<std::uint64_t>(
                           structure.data() + kAddressBytes * (lists.tensors * list + tensor)),
                       .bytes = static_cast<std::uint64_t>(elements) * optimizer.element_bytes,
                       .role = optimizer.roles[list]});
    }
  }
  return found;
}

}  // namespace eidolon::torch_layout
