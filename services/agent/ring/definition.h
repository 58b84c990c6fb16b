// Typed views of work definitions (services/contract/ring/work.h): checked once, then read without
// copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/contract/ring/work.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// Sizes and counts of one definition against its own length. The error names kind and field.
base::Result<void> CheckDefinition(std::span<const std::byte> definition);

// The parts below require: CheckDefinition passed, 8-byte alignment, and the right kind.
wire::WorkKind KindOf(std::span<const std::byte> definition);

template <typename Work>
const Work& WorkOf(std::span<const std::byte> definition) {
  return *reinterpret_cast<const Work*>(definition.data());
}

struct KernelTail {
  std::string_view name;
  std::span<const std::byte> slots;  // ParameterSlot[], possibly unaligned.
  std::span<const std::byte> parameters;
};
KernelTail TailOf(const wire::KernelWork& kernel);

struct DnnGraphTail {
  std::span<const wire::DnnTensor> tensors;
  std::span<const wire::DnnOperation> operations;
  std::span<const std::byte> nodes;  // ReadDnnNodes reads them, and never fails.
};
DnnGraphTail TailOf(const wire::DnnGraphWork& graph);

struct LibraryTail {
  std::string_view name;
  std::span<const std::byte> numbers;  // int64[], possibly unaligned.
};
LibraryTail TailOf(const wire::LibraryWork& call);

// Returns what a report calls this work: the kernel's name, "gemm 4096x512x128 x8", "memcpy HtoD",
// ...
std::string DisplayName(std::span<const std::byte> definition);

}  // namespace eidolon::agent::ring
