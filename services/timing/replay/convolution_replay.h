// A convolution again, forward or one of its gradients, by its shape: through the backend interface
// of the real cuDNN, loaded at run time, with the engine that its instant heuristic puts first, as
// PyTorch asks for without cudnn.benchmark.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/cudnn.h"
#include "services/timing/replay/dnn_plan.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// A convolution that is ready to be repeated, with tensors of its own.
class ConvolutionCall {
 public:
  // Refuses every graph but a convolution alone: others are made again from their descriptors
  // (GraphCall).
  static base::Result<std::unique_ptr<ConvolutionCall>> Prepare(Cudnn& cudnn,
                                                                const kernel::DnnGraph& graph,
                                                                CUstream stream);
  base::Result<void> Enqueue(CUstream stream) { return plan_.Enqueue(stream); }

 private:
  // The names of one kind of operation's attributes.
  struct Form;
  static const Form* FormOf(std::uint32_t kind);

  explicit ConvolutionCall(Cudnn& cudnn) : cudnn_(cudnn), plan_(cudnn) {}
  base::Result<void> AddTensor(const kernel::DnnTensor& tensor, CUstream stream);
  base::Result<void> Describe(const kernel::DnnOperation& operation, bool is_double);
  base::Result<void> DescribeFilter(const kernel::DnnOperation& operation, bool is_double);

  Cudnn& cudnn_;
  std::array<DnnDescriptor, 3> tensors_;  // Inputs, then the output.
  std::array<Operand, 3> operands_;
  std::array<std::int64_t, 3> uids_{};
  std::size_t tensor_count_ = 0;
  // Each refers to those before it, and the plan runs by them: they live as long as it.
  DnnDescriptor convolution_, operation_, graph_;
  DnnPlan plan_;
};

}  // namespace eidolon::timing::replay
