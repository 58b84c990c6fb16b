// A convolution again, forward or one of its gradients, by its shape: through the backend interface
// of the real cuDNN, loaded at run time, with the engine that its instant heuristic puts first, as
// PyTorch asks for without cudnn.benchmark.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// Exported functions.
#define EIDOLON_CUDNN_CALLS(ROW)     \
  ROW(cudnnCreate)                   \
  ROW(cudnnDestroy)                  \
  ROW(cudnnGetVersion)               \
  ROW(cudnnSetStream)                \
  ROW(cudnnBackendCreateDescriptor)  \
  ROW(cudnnBackendDestroyDescriptor) \
  ROW(cudnnBackendSetAttribute)      \
  ROW(cudnnBackendGetAttribute)      \
  ROW(cudnnBackendFinalize)          \
  ROW(cudnnBackendExecute)

// Owns a handle. Not thread safe. The driver outlives it; the context is current.
class Cudnn {
 public:
  // `folder` holds libcudnn; empty: where the loader looks.
  static base::Result<std::unique_ptr<Cudnn>> Open(const Driver& driver, const std::string& folder);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // "cudnn 9.20.1".
  std::string version() const;

  const Driver& driver() const { return driver_; }
  cudnnHandle_t handle() const { return handle_; }
#define EIDOLON_DECLARE_CALL(function) decltype(&::function) function = nullptr;
  EIDOLON_CUDNN_CALLS(EIDOLON_DECLARE_CALL)
#undef EIDOLON_DECLARE_CALL

 private:
  explicit Cudnn(const Driver& driver) : driver_(driver) {}
  const Driver& driver_;
  cudnnHandle_t handle_ = nullptr;
};

// A backend descriptor, destroyed with its owner.
using DnnDescriptor = std::unique_ptr<void, std::function<void(void*)>>;

// A convolution that is ready to be repeated, with tensors of its own.
class ConvolutionCall {
 public:
  // Refuses every graph but a convolution alone: of others the identity does not tell scalars,
  // masks and computing types.
  static base::Result<std::unique_ptr<ConvolutionCall>> Prepare(Cudnn& cudnn,
                                                                const kernel::DnnGraph& graph,
                                                                CUstream stream);
  base::Result<void> Enqueue(CUstream stream);

 private:
  // The names of one kind of operation's attributes.
  struct Form;
  static const Form* FormOf(std::uint32_t kind);

  explicit ConvolutionCall(Cudnn& cudnn) : cudnn_(cudnn) {}
  base::Result<DnnDescriptor> Make(cudnnBackendDescriptorType_t type);
  base::Result<void> Finish(const DnnDescriptor& descriptor, const char* doing);
  base::Result<void> Set(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  base::Result<void> Refer(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                           const DnnDescriptor& to);
  base::Result<void> AddTensor(const kernel::DnnTensor& tensor, CUstream stream);
  base::Result<void> Describe(const kernel::DnnOperation& operation, bool is_double);
  base::Result<void> DescribeFilter(const kernel::DnnOperation& operation, bool is_double);
  base::Result<void> Choose(CUstream stream);
  // The first of this heuristic's engines that works; not found when none does.
  base::Result<void> ChooseBy(cudnnBackendHeurMode_t mode, CUstream stream);
  base::Result<void> PlanFor(const DnnDescriptor& configuration, CUstream stream);
  base::Result<void> Bind();

  Cudnn& cudnn_;
  std::array<DnnDescriptor, 3> tensors_;  // Inputs, then the output.
  std::array<Operand, 3> operands_;
  std::array<std::int64_t, 3> uids_{};
  std::size_t tensor_count_ = 0;
  // Each refers to those before it, and the plan runs by them: they live as long as it.
  DnnDescriptor convolution_, operation_, graph_, configuration_, plan_, pack_;
  Operand workspace_;
};

}  // namespace eidolon::timing::replay
