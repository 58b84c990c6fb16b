// Each call is a graph of one normalisation, so both interfaces of cuDNN have the same work for the
// same shapes. Small ones are computed, if the call is the plain case: spatial mode, no activation
// or addition, alpha 1 and beta 0, and tensors of equal dimensions and type. In all other cases
// every output with an address is forgotten. Parameters and statistics share one descriptor
// (scale_desc), as cuDNN demands.
#include "shim/vendor/cudnn/batch_norm.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "shim/gpu/stream/submit.h"
#include "shim/value/compute/batch_norm.h"
#include "shim/value/compute/launch.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/gemm.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::batch_norm {
namespace {

struct Buffer {
  const TensorDescriptor* shape;
  void* address;
};

// One operation that reads and writes the given tensors; those without an address do not take part.
struct Problem {
  cudnnBackendDescriptorType_t kind;
  std::uint32_t phase = 0;
  std::initializer_list<Buffer> inputs;
  std::initializer_list<Buffer> outputs;
  std::optional<compute::BatchNorm> values{};  // How to compute it; nothing: nobody can.
};

cudnnStatus_t Run(cudnnHandle_t handle, const Problem& problem) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "not a handle");
  GraphWork work;
  workload::DnnOperation operation{};
  operation.kind = problem.kind;
  operation.mode = CUDNN_BATCH_NORM;
  operation.phase = problem.phase;
  std::int64_t uid = 0;
  for (const Buffer& buffer : problem.inputs) {
    if (buffer.address == nullptr) continue;
    if (buffer.shape == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "a descriptor is missing");
    GraphWork::AddInput(operation, work.Add(++uid, ShapeOf(*buffer.shape)));
  }
  for (const Buffer& buffer : problem.outputs) {
    if (buffer.address == nullptr) continue;
    if (buffer.shape == nullptr) return Fail(CUDNN_STATUS_BAD_PARAM, "a descriptor is missing");
    GraphWork::AddOutput(operation, work.Add(++uid, ShapeOf(*buffer.shape)));
  }
  work.Add(operation);
  const gpu::Status status = gpu::Submit(context->stream, work.Bytes(0, {}));
  if (status != gpu::Status::kSuccess) return ToCudnn(status);
  if (problem.values && compute::IsOn() && compute::IsSmall(*problem.values)) {
    library::AfterWork(context->stream, [norm = *problem.values] { compute::Record(norm); });
    return CUDNN_STATUS_SUCCESS;
  }
  library::NameWriter("cudnn.batch_norm");
  for (const Buffer& buffer : problem.outputs) {
    if (buffer.address == nullptr) continue;
    library::NoteWritten(context->stream, buffer.address, ExtentOf(ShapeOf(*buffer.shape)));
  }
  return CUDNN_STATUS_SUCCESS;
}

Buffer Read(const cudnnTensorDescriptor_t descriptor, const void* address) {
  return {TensorDescriptor::Find(descriptor), const_cast<void*>(address)};
}

std::uint64_t Address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Host scalars are double precision for that type only.
bool Is(const void* scalar, cudnnDataType_t type, double value) {
  if (scalar == nullptr) return false;
  if (type == CUDNN_DATA_DOUBLE) return *static_cast<const double*>(scalar) == value;
  return static_cast<double>(*static_cast<const float*>(scalar)) == value;
}

// Results are written, not added to what is there.
struct Blend {
  const void* alpha;
  const void* beta;
};
bool IsPlain(const Blend& blend, cudnnDataType_t type) {
  return Is(blend.alpha, type, 1) && Is(blend.beta, type, 0);
}

// Strides of a tensor whose dimensions are `dims`; nothing when it has others.
std::optional<compute::VolumeDims> StridesOf(const TensorDescriptor* tensor,
                                             const TensorDescriptor& like) {
  if (tensor == nullptr || tensor->dims != like.dims || tensor->type != like.type) {
    return std::nullopt;
  }
  compute::VolumeDims strides{};
  std::ranges::copy(tensor->strides, strides.begin());
  return strides;
}

// Returns what of a problem is the same for all passes; nothing when it cannot be computed.
std::optional<compute::BatchNorm> Begin(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations,
                                        const Buffer& input, const Buffer& output,
                                        const TensorDescriptor* parameters) {
  if (mode == CUDNN_BATCHNORM_PER_ACTIVATION || operations != CUDNN_BATCHNORM_OPS_BN) return {};
  const TensorDescriptor* const x = input.shape;
  if (x == nullptr || parameters == nullptr || x->dims.size() < 2 || x->dims.size() > 5) return {};
  const auto in = StridesOf(x, *x);
  const auto out = StridesOf(output.shape, *x);
  if (!in || !out) return {};
  compute::BatchNorm norm{.type = library::ElementOf(ShapeOf(*x).type),
                          .parameters = library::ElementOf(ShapeOf(*parameters).type)};
  norm.dims.fill(1);
  std::ranges::copy(x->dims, norm.dims.begin());
  norm.input = {.address = Address(input.address), .strides = *in};
  norm.output = {.address = Address(output.address), .strides = *out};
  return norm;
}

cudnnStatus_t NoBytes(cudnnHandle_t handle, std::size_t* bytes) {
  if (Context::Find(handle) == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t ForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t operations,
    const void* alpha, const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnTensorDescriptor_t z_desc, const void* z, const cudnnTensorDescriptor_t y_desc,
    void* y, const cudnnTensorDescriptor_t scale_desc, const void* scale, const void* bias,
    double factor, void* running_mean, void* running_variance, double epsilon, void* saved_mean,
    void* saved_variance, cudnnActivationDescriptor_t, void*, std::size_t, void*, std::size_t) {
  const Buffer in = Read(x_desc, x);
  auto norm = Begin(mode, operations, in, Read(y_desc, y), TensorDescriptor::Find(scale_desc));
  if (norm && !IsPlain({alpha, beta}, in.shape->type)) norm.reset();
  if (norm) {
    norm->pass = compute::BatchNormPass::kTraining;
    norm->epsilon = epsilon;
    norm->momentum = factor;
    norm->scale = Address(scale);
    norm->bias = Address(bias);
    norm->running_mean = Address(running_mean);
    norm->running_variance = Address(running_variance);
    norm->saved_mean = Address(saved_mean);
    norm->saved_deviation = Address(saved_variance);
  }
  return Run(handle, {.kind = CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
                      .phase = CUDNN_NORM_FWD_TRAINING,
                      .inputs = {Read(x_desc, x), Read(z_desc, z), Read(scale_desc, scale),
                                 Read(scale_desc, bias)},
                      .outputs = {Read(y_desc, y), Read(scale_desc, running_mean),
                                  Read(scale_desc, running_variance), Read(scale_desc, saved_mean),
                                  Read(scale_desc, saved_variance)},
                      .values = norm});
}

cudnnStatus_t ForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                              const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x,
                              const cudnnTensorDescriptor_t y_desc, void* y,
                              const cudnnTensorDescriptor_t scale_desc, const void* scale,
                              const void* bias, double factor, void* running_mean,
                              void* running_variance, double epsilon, void* saved_mean,
                              void* saved_variance) {
  return ForwardTrainingEx(handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, x_desc, x, nullptr,
                           nullptr, y_desc, y, scale_desc, scale, bias, factor, running_mean,
                           running_variance, epsilon, saved_mean, saved_variance, nullptr, nullptr,
                           0, nullptr, 0);
}

cudnnStatus_t ForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                               const void* beta, const cudnnTensorDescriptor_t x_desc,
                               const void* x, const cudnnTensorDescriptor_t y_desc, void* y,
                               const cudnnTensorDescriptor_t scale_desc, const void* scale,
                               const void* bias, const void* mean, const void* variance,
                               double epsilon) {
  const Buffer in = Read(x_desc, x);
  auto norm =
      Begin(mode, CUDNN_BATCHNORM_OPS_BN, in, Read(y_desc, y), TensorDescriptor::Find(scale_desc));
  if (norm && !IsPlain({alpha, beta}, in.shape->type)) norm.reset();
  if (norm) {
    norm->pass = compute::BatchNormPass::kInference;
    norm->epsilon = epsilon;
    norm->scale = Address(scale);
    norm->bias = Address(bias);
    norm->running_mean = Address(mean);
    norm->running_variance = Address(variance);
  }
  return Run(handle, {.kind = CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR,
                      .phase = CUDNN_NORM_FWD_INFERENCE,
                      .inputs = {Read(x_desc, x), Read(scale_desc, scale), Read(scale_desc, bias),
                                 Read(scale_desc, mean), Read(scale_desc, variance)},
                      .outputs = {Read(y_desc, y)},
                      .values = norm});
}

cudnnStatus_t BackwardEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                         cudnnBatchNormOps_t operations, const void* alpha_data,
                         const void* beta_data, const void* alpha_parameter,
                         const void* beta_parameter, const cudnnTensorDescriptor_t x_desc,
                         const void* x, const cudnnTensorDescriptor_t y_desc, const void* y,
                         const cudnnTensorDescriptor_t dy_desc, const void* dy,
                         const cudnnTensorDescriptor_t dz_desc, void* dz,
                         const cudnnTensorDescriptor_t dx_desc, void* dx,
                         const cudnnTensorDescriptor_t scale_desc, const void* scale, const void*,
                         void* dscale, void* dbias, double, const void* saved_mean,
                         const void* saved_variance, cudnnActivationDescriptor_t, void*,
                         std::size_t, void*, std::size_t) {
  const Buffer in = Read(x_desc, x);
  auto norm = Begin(mode, operations, in, Read(dx_desc, dx), TensorDescriptor::Find(scale_desc));
  const auto strides = norm ? StridesOf(TensorDescriptor::Find(dy_desc), *in.shape) : std::nullopt;
  // Without what the forward pass saved it would have to be found again.
  const bool has_saved = saved_mean != nullptr && saved_variance != nullptr;
  if (!strides || !has_saved || !IsPlain({alpha_data, beta_data}, in.shape->type) ||
      !IsPlain({alpha_parameter, beta_parameter}, in.shape->type)) {
    norm.reset();
  }
  if (norm) {
    norm->pass = compute::BatchNormPass::kBackward;
    norm->gradient = {.address = Address(dy), .strides = *strides};
    norm->scale = Address(scale);
    norm->saved_mean = Address(saved_mean);
    norm->saved_deviation = Address(saved_variance);
    norm->scale_gradient = Address(dscale);
    norm->bias_gradient = Address(dbias);
  }
  return Run(handle, {.kind = CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR,
                      .phase = CUDNN_NORM_FWD_TRAINING,
                      .inputs = {Read(x_desc, x), Read(dy_desc, dy), Read(y_desc, y),
                                 Read(scale_desc, scale), Read(scale_desc, saved_mean),
                                 Read(scale_desc, saved_variance)},
                      .outputs = {Read(dx_desc, dx), Read(dz_desc, dz), Read(scale_desc, dscale),
                                  Read(scale_desc, dbias)},
                      .values = norm});
}

cudnnStatus_t Backward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha_data,
                       const void* beta_data, const void* alpha_parameter,
                       const void* beta_parameter, const cudnnTensorDescriptor_t x_desc,
                       const void* x, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                       const cudnnTensorDescriptor_t dx_desc, void* dx,
                       const cudnnTensorDescriptor_t scale_desc, const void* scale, void* dscale,
                       void* dbias, double epsilon, const void* saved_mean,
                       const void* saved_variance) {
  return BackwardEx(handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha_data, beta_data, alpha_parameter,
                    beta_parameter, x_desc, x, nullptr, nullptr, dy_desc, dy, nullptr, nullptr,
                    dx_desc, dx, scale_desc, scale, nullptr, dscale, dbias, epsilon, saved_mean,
                    saved_variance, nullptr, nullptr, 0, nullptr, 0);
}

cudnnStatus_t ForwardWorkspace(cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t,
                               const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                               const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                               const cudnnActivationDescriptor_t, std::size_t* bytes) {
  return NoBytes(handle, bytes);
}

cudnnStatus_t BackwardWorkspace(cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t,
                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                const cudnnActivationDescriptor_t, std::size_t* bytes) {
  return NoBytes(handle, bytes);
}

cudnnStatus_t ReserveSpace(cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t,
                           const cudnnActivationDescriptor_t, const cudnnTensorDescriptor_t,
                           std::size_t* bytes) {
  return NoBytes(handle, bytes);
}

}  // namespace eidolon::shim::cudnn::batch_norm
