// The descriptors that a cuDNN graph can be made again from (services/contract/ring/work.h,
// DnnNode), as views of a definition's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/contract/ring/work.h"

namespace eidolon::agent::ring {

struct DnnAttributeView {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::span<const std::byte> elements;
  std::vector<std::uint32_t> references;  // Each below the number of the node that it is in.
};

struct DnnNodeView {
  std::uint32_t type = 0;
  std::vector<DnnAttributeView> attributes;
};

// All nodes of a definition's tail, in their order. The error names the node that is damaged.
base::Result<std::vector<DnnNodeView>> ReadDnnNodes(std::span<const std::byte> bytes);

}  // namespace eidolon::agent::ring
