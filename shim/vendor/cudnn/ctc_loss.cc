// The work is counted from its recursions (Graves et al., "Connectionist Temporal Classification",
// 2006): a label of L elements has 2 L + 1 states with its blanks, the forward recursion visits
// each state once in each step, and gradients need the backward one as well. Where lengths lie on
// the device, the longest label of the descriptor stands for them. A state costs ten operations and
// four bytes, read and written.
#include "shim/vendor/cudnn/ctc_loss.h"

#include <algorithm>

#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/descriptor_handle.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::ctc_loss {
namespace {

constexpr std::uint64_t kStateFlops = 10;
constexpr std::uint64_t kStateBytes = 4;

// Probabilities are steps, batch, classes.
struct Sizes {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t classes = 0;
  std::int64_t label = 0;  // The longest.

  std::uint64_t states() const {
    return static_cast<std::uint64_t>(steps * batch * (2 * label + 1));
  }
};

cudnnStatus_t Measure(cudnnHandle_t handle, cudnnCTCLossDescriptor_t descriptor,
                      const cudnnTensorDescriptor_t shape, const int* label_lengths, Sizes* sizes) {
  const auto* loss = CtcLossDescriptor::Find(descriptor);
  const auto* tensor = TensorDescriptor::Find(shape);
  if (Context::Find(handle) == nullptr || loss == nullptr || tensor == nullptr ||
      tensor->dims.size() != 3) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a handle or a descriptor is missing");
  }
  *sizes = {.steps = tensor->dims[0],
            .batch = tensor->dims[1],
            .classes = tensor->dims[2],
            .label = loss->longest_label};
  if (label_lengths != nullptr) {
    sizes->label = *std::max_element(label_lengths, label_lengths + tensor->dims[1]);
  }
  if (sizes->label < 0) return Fail(CUDNN_STATUS_BAD_PARAM, "a label's length is negative");
  return CUDNN_STATUS_SUCCESS;
}

// Returns the workspace of both recursions.
std::size_t WorkspaceOf(const Sizes& sizes) { return 2 * sizes.states() * kStateBytes; }

cudnnStatus_t Submit(const Context& context, const Sizes& sizes, std::uint32_t type, void* costs,
                     void* gradients, std::uint64_t gradient_bytes) {
  const int recursions = gradients == nullptr ? 1 : 2;
  const auto elements = static_cast<std::uint64_t>(sizes.steps * sizes.batch * sizes.classes);
  const std::uint64_t state_visits = static_cast<std::uint64_t>(recursions) * sizes.states();
  const gpu::Status status = library::Submit(
      context.stream,
      library::Call{.name = "cudnn.ctc_loss",
                    .type = type,
                    .flops = kStateFlops * state_visits,
                    .memory_bytes =
                        library::BytesOf(type, elements) * static_cast<std::uint64_t>(recursions) +
                        2 * kStateBytes * state_visits,
                    .numbers = {sizes.steps, sizes.batch, sizes.classes, sizes.label, recursions}});
  if (status != gpu::Status::kSuccess) return ToCudnn(status);
  library::NoteWritten(context.stream, costs,
                       library::BytesOf(type, static_cast<std::uint64_t>(sizes.batch)));
  library::NoteWritten(context.stream, gradients, gradient_bytes);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t Create(cudnnCTCLossDescriptor_t* descriptor) {
  return Give<CtcLossDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnCTCLossDescriptor_t descriptor) {
  return Take<CtcLossDescriptor>(descriptor);
}

cudnnStatus_t SetBoundedV9(cudnnCTCLossDescriptor_t handle, cudnnDataType_t type,
                           cudnnLossNormalizationMode_t, cudnnCTCGradMode_t, int longest_label) {
  CtcLossDescriptor* descriptor = CtcLossDescriptor::Find(handle);
  if (descriptor == nullptr || longest_label < 0) return CUDNN_STATUS_BAD_PARAM;
  if (type != CUDNN_DATA_FLOAT) return CUDNN_STATUS_NOT_SUPPORTED;
  descriptor->type = type;
  descriptor->longest_label = longest_label;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t SetBounded(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                         cudnnLossNormalizationMode_t normalization, cudnnNanPropagation_t,
                         int longest_label) {
  return SetBoundedV9(descriptor, type, normalization, {}, longest_label);
}
cudnnStatus_t SetEx(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                    cudnnLossNormalizationMode_t normalization, cudnnNanPropagation_t) {
  return SetBoundedV9(descriptor, type, normalization, {}, 0);
}
cudnnStatus_t Set(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type) {
  return SetBoundedV9(descriptor, type, {}, {}, 0);
}

cudnnStatus_t WorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probabilities,
                            const cudnnTensorDescriptor_t, const int*, const int* label_lengths,
                            const int*, cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t descriptor,
                            std::size_t* bytes) {
  Sizes sizes;
  const auto status = Measure(handle, descriptor, probabilities, label_lengths, &sizes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes == nullptr || label_lengths == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = WorkspaceOf(sizes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t WorkspaceSizeBounded(cudnnHandle_t handle, cudnnCTCLossAlgo_t,
                                   cudnnCTCLossDescriptor_t descriptor,
                                   const cudnnTensorDescriptor_t probabilities,
                                   const cudnnTensorDescriptor_t, std::size_t* bytes) {
  Sizes sizes;
  const auto status = Measure(handle, descriptor, probabilities, nullptr, &sizes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = WorkspaceOf(sizes);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Run(cudnnHandle_t handle, const cudnnTensorDescriptor_t shape,
                  const void* probabilities, const int*, const int* label_lengths, const int*,
                  void* costs, const cudnnTensorDescriptor_t gradient_shape, void* gradients,
                  cudnnCTCLossAlgo_t, cudnnCTCLossDescriptor_t descriptor, void*,
                  std::size_t bytes) {
  Sizes sizes;
  const auto status = Measure(handle, descriptor, shape, label_lengths, &sizes);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (probabilities == nullptr || costs == nullptr || bytes < WorkspaceOf(sizes)) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a buffer is missing or too small");
  }
  const auto* gradient = TensorDescriptor::Find(gradient_shape);
  return Submit(*Context::Find(handle), sizes, CudaTypeOf(TensorDescriptor::Find(shape)->type),
                costs, gradients, gradient == nullptr ? 0 : ExtentOf(ShapeOf(*gradient)));
}

cudnnStatus_t RunBounded(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                         cudnnCTCLossDescriptor_t descriptor, const cudnnTensorDescriptor_t shape,
                         const void* probabilities, const int* labels, const int*,
                         const int* input_lengths, void* costs,
                         const cudnnTensorDescriptor_t gradient_shape, void* gradients,
                         std::size_t bytes, void* workspace) {
  // The lengths lie on the device.
  return Run(handle, shape, probabilities, labels, nullptr, input_lengths, costs, gradient_shape,
             gradients, algorithm, descriptor, workspace, bytes);
}

}  // namespace eidolon::shim::cudnn::ctc_loss
