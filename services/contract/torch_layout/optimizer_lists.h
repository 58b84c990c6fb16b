// Which lists of tensors an optimizer's kernel works on: what it updates, reads and keeps. Told by
// PyTorch's fused optimizers, by the kernels that its foreach Adam consists of, and by those of
// apex, which DeepSpeed and Transformer Engine copied.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/contract/torch_layout/tensor_list.h"

namespace eidolon::torch_layout {

enum class ListRole : std::uint8_t { kOther, kParameters, kGradients, kState };

struct OptimizerLists {
  std::array<ListRole, TensorLists::kDepthMax> roles{};
  std::size_t element_bytes = 0;  // Of all lists.

  std::size_t CountOf(ListRole role) const;
};

// Finds them from the demangled name of a kernel. `is_apex`: the lists are not its first parameter.
// Nothing for other kernels, and where elements are of several widths.
std::optional<OptimizerLists> FindOptimizerLists(std::string_view name, bool is_apex);

struct ListedTensor {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  ListRole role = ListRole::kOther;
};
// The tensors with a role that so many launched blocks work on, whole, each once for each list.
// `structure` begins where the lists do. Empty where the tables make no sense.
std::vector<ListedTensor> ListTensors(const OptimizerLists& optimizer, const TensorLists& lists,
                                      std::span<const std::byte> structure, std::uint32_t launched);

}  // namespace eidolon::torch_layout
