// Work definitions (work.h) as bytes: checked once, then read. Bytes need no alignment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "services/base/error.h"
#include "services/contract/workload/work.h"

namespace eidolon::workload {

// Fails for definitions of a layout that this build does not know; the error names both.
base::Result<void> CheckVersion(std::uint32_t version);

// Sizes, counts and enumerations of one definition. The error names kind and field.
base::Result<void> CheckDefinition(std::span<const std::byte> definition);

// Those below require: CheckDefinition passed, and the right kind.
WorkKind KindOf(std::span<const std::byte> definition);

template <typename Work>
Work WorkOf(std::span<const std::byte> definition) {
  static_assert(std::is_trivially_copyable_v<Work>);
  Work work;
  std::memcpy(&work, definition.data(), std::min(sizeof(work), definition.size()));
  return work;
}

struct KernelTail {
  std::string_view name;
  std::vector<ParameterSlot> slots;
  std::span<const std::byte> parameters;
};
KernelTail KernelTailOf(std::span<const std::byte> definition);

struct DnnGraphTail {
  std::vector<DnnTensor> tensors;
  std::vector<DnnOperation> operations;
  std::span<const std::byte> nodes;  // ReadDnnNodes reads them, and never fails.
};
DnnGraphTail DnnGraphTailOf(std::span<const std::byte> definition);

struct LibraryTail {
  std::string_view name;
  std::vector<std::int64_t> numbers;
};
LibraryTail LibraryTailOf(std::span<const std::byte> definition);

// The bytes of a definition: `work`, whose header gets the size, and the parts of its tail.
template <typename Work>
std::vector<std::byte> Definition(Work work,
                                  std::initializer_list<std::span<const std::byte>> tail = {}) {
  std::size_t bytes = sizeof(work);
  for (const auto part : tail) bytes += part.size();
  work.header.bytes = static_cast<std::uint32_t>(bytes);
  std::vector<std::byte> definition;
  definition.reserve(bytes);
  const auto head = std::as_bytes(std::span(&work, 1));
  definition.insert(definition.end(), head.begin(), head.end());
  for (const auto part : tail) definition.insert(definition.end(), part.begin(), part.end());
  return definition;
}

// Returns what a report calls this work: the kernel's name, "gemm bf16 TN 4096x512x128 x8", "memcpy
// HtoD",
// ...
std::string DisplayName(std::span<const std::byte> definition);

}  // namespace eidolon::workload
