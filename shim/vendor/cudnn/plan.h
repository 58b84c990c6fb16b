// Translates a stored operation graph into what executing it means: one work definition, and the
// tensors that it writes.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "shim/vendor/cudnn/graph_nodes.h"
#include "shim/vendor/cudnn/node.h"

namespace eidolon::shim::cudnn {

struct Plan {
  struct Output {
    std::int64_t uid;  // The program's identifier.
    std::uint64_t bytes;
  };
  std::vector<std::byte> definition;
  std::vector<ValueSlot> values;  // Places in the definition that execution fills.
  std::vector<Output> outputs;
  std::int64_t workspace_bytes = 0;
};

// The plan of a finalized operation graph; nullptr, with a status, when it cannot be described.
std::shared_ptr<const Plan> MakePlan(const Node& graph, std::int64_t engine, cudnnStatus_t* status);

}  // namespace eidolon::shim::cudnn
