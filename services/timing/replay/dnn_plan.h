// An operation graph of cuDNN, ready to be run: with the first engine of the library's heuristics
// that works, as programs choose without trying engines out.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <span>
#include <string>

#include "services/base/error.h"
#include "services/timing/replay/cudnn.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// Owns the plan and its workspace. The library and what the graph is made of outlive it.
class DnnPlan {
 public:
  explicit DnnPlan(Cudnn& cudnn) : cudnn_(cudnn) {}

  // Asks the heuristics in their order. Not supported when no engine works: "... for `what`".
  base::Result<void> Choose(const DnnDescriptor& graph,
                            std::span<const cudnnBackendHeurMode_t> heuristics,
                            const std::string& what, CUstream stream);
  // The tensors' memory, by their identifiers. Requires: chosen; as many pointers as uids.
  base::Result<void> Bind(std::span<const std::int64_t> uids, std::span<void* const> pointers);
  // Requires: bound.
  base::Result<void> Enqueue(CUstream stream);

 private:
  base::Result<void> ChooseBy(const DnnDescriptor& graph, cudnnBackendHeurMode_t mode,
                              CUstream stream);
  base::Result<void> PlanFor(const DnnDescriptor& configuration, CUstream stream);

  Cudnn& cudnn_;
  DnnDescriptor configuration_, plan_, pack_;  // Each refers to those before it.
  Operand workspace_;
};

}  // namespace eidolon::timing::replay
