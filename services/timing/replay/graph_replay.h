// A graph of cuDNN again, such as attention forward and backward or a normalisation: made from the
// descriptors that the program made, operation by operation, through the backend interface of the
// real cuDNN, with the engine that its heuristic A puts first, as PyTorch and Transformer Engine
// ask for.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/cudnn.h"
#include "services/timing/replay/dnn_plan.h"
#include "services/timing/replay/graph_check.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// A graph that is ready to be repeated, with tensors of its own. What the program passes by value
// is 1 for numbers with a fraction, and what it was for whole numbers.
class GraphCall {
 public:
  // Refuses what graph_check.h names.
  static base::Result<std::unique_ptr<GraphCall>> Prepare(Cudnn& cudnn,
                                                          const kernel::DnnGraph& graph,
                                                          CUstream stream);
  base::Result<void> Enqueue(CUstream stream) { return plan_.Enqueue(stream); }

 private:
  explicit GraphCall(Cudnn& cudnn) : cudnn_(cudnn), plan_(cudnn) {}
  base::Result<void> AddNode(const kernel::DnnNode& node);
  base::Result<void> AddMemory(std::int64_t uid, const GraphTensor& tensor, CUstream stream);

  Cudnn& cudnn_;
  std::vector<DnnDescriptor> descriptors_;  // Each refers to those before it.
  std::vector<Operand> operands_;
  std::deque<std::array<std::byte, 16>> values_;  // Of tensors that are passed by value.
  std::vector<std::int64_t> uids_;
  std::vector<void*> pointers_;
  DnnPlan plan_;
};

}  // namespace eidolon::timing::replay
