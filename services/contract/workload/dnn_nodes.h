// The program's own descriptors of a cuDNN graph, from which it can be made again: those that a
// node refers to come before it, the operation graph is the last. Tensors' identifiers are the
// work's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::workload {

// In a definition, a node is a DnnNodeHead and its attributes; an attribute is a DnnAttributeHead,
// element_bytes of plain elements, and reference_count indices of nodes (uint32). Nothing is
// aligned.
struct DnnNodeHead {
  std::uint32_t type;  // cudnnBackendDescriptorType_t.
  std::uint32_t attribute_count;
};
struct DnnAttributeHead {
  std::uint32_t name;  // cudnnBackendAttributeName_t, or kDnnValue.
  std::uint32_t type;  // cudnnBackendAttributeType_t.
  std::uint32_t element_bytes;
  std::uint32_t reference_count;
};

struct DnnAttribute {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::string elements;
  std::vector<std::uint32_t> nodes;  // Each below the number of the node that it is in.
};
struct DnnNode {
  std::uint32_t type = 0;
  std::vector<DnnAttribute> attributes;
};

// All nodes of a definition's tail, in their order. The error names the node that is damaged.
base::Result<std::vector<DnnNode>> ReadDnnNodes(std::span<const std::byte> bytes);
// The inverse.
std::string DnnNodeBytes(std::span<const DnnNode> nodes);

}  // namespace eidolon::workload
