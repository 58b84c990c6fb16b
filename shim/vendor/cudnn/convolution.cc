// Each call is a graph of one convolution, data first and filter second, so both interfaces of
// cuDNN have the same work for the same shapes. The algorithm that a program names does not matter,
// and each search gives one. It matters for memory only: gradients of filters in types under 32
// bits need a workspace in single precision, as in the graph interface. CUDNN_FMA_MATH is how a
// program forbids TF32. In the fused call the convolution's own result is virtual: it never reaches
// memory, and bias, addend and activation are one pass.
#include "shim/vendor/cudnn/convolution.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cudnn/descriptor.h"
#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn::convolution {
namespace {

// A convolution's three tensors: two read, one written.
struct Problem {
  cudnnBackendDescriptorType_t kind;
  const ConvolutionDescriptor* descriptor;
  Tensor first, second, result;
};

workload::DnnOperation OperationOf(const Problem& problem) {
  workload::DnnOperation operation{};
  operation.kind = problem.kind;
  operation.mode = problem.descriptor->mode;
  operation.convolution_rank = static_cast<std::uint32_t>(problem.descriptor->pads.size());
  for (std::size_t i = 0; i < problem.descriptor->pads.size(); ++i) {
    operation.pads[i] = operation.post_pads[i] = problem.descriptor->pads[i];
    operation.conv_strides[i] = problem.descriptor->strides[i];
    operation.dilations[i] = problem.descriptor->dilations[i];
  }
  return operation;
}

void AddConvolution(const Problem& problem, GraphWork& work) {
  workload::DnnOperation operation = OperationOf(problem);
  GraphWork::AddInput(operation, work.Add(1, problem.first));
  GraphWork::AddInput(operation, work.Add(2, problem.second));
  GraphWork::AddOutput(operation, work.Add(3, problem.result));
  work.Add(operation);
}

// Single precision without TF32, where the program asks for it.
std::uint32_t EngineOf(const Problem& problem) {
  const bool plain = problem.descriptor->math_type == CUDNN_FMA_MATH;
  return plain && problem.result.type == CUDA_R_32F ? workload::kPlainDnnEngine : 0;
}

cudnnStatus_t Submit(const Context& context, std::span<const std::byte> work, void* result,
                     std::uint64_t result_bytes) {
  const gpu::Status status = gpu::Submit(context.stream, work);
  library::NameWriter("cudnn.convolution");
  if (status == gpu::Status::kSuccess) library::NoteWritten(context.stream, result, result_bytes);
  return ToCudnn(status);
}

template <typename First, typename Second, typename Result>
cudnnStatus_t Run(cudnnHandle_t handle, cudnnBackendDescriptorType_t kind,
                  const ConvolutionDescriptor* descriptor, const First* first, const Second* second,
                  const Result* result, void* output) {
  const Context* context = Context::Find(handle);
  if (context == nullptr || descriptor == nullptr || first == nullptr || second == nullptr ||
      result == nullptr || output == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a handle, descriptor or buffer is missing");
  }
  const Problem problem{kind, descriptor, ShapeOf(*first), ShapeOf(*second), ShapeOf(*result)};
  GraphWork work;
  AddConvolution(problem, work);
  return Submit(*context, work.Bytes(EngineOf(problem), {}), output, ExtentOf(problem.result));
}

template <typename Result, typename Algorithm>
cudnnStatus_t Answer(cudnnHandle_t handle, const void* descriptor, Algorithm algorithm,
                     std::size_t workspace, int requested, int* returned, Result* results) {
  if (Context::Find(handle) == nullptr || descriptor == nullptr || requested < 1 ||
      returned == nullptr || results == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *results = {};
  results->algo = algorithm;
  results->status = CUDNN_STATUS_SUCCESS;
  results->time = -1;
  results->memory = workspace;
  results->determinism = CUDNN_DETERMINISTIC;
  results->mathType = CUDNN_TENSOR_OP_MATH;
  *returned = 1;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t AnswerSize(cudnnHandle_t handle, std::size_t value, std::size_t* bytes) {
  if (Context::Find(handle) == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = value;
  return CUDNN_STATUS_SUCCESS;
}

// Narrow filter gradients add up in single precision first, as in the graph interface.
std::size_t FilterWorkspace(const cudnnFilterDescriptor_t handle) {
  const FilterDescriptor* filter = FilterDescriptor::Find(handle);
  if (filter == nullptr || library::BitsOf(CudaTypeOf(filter->type)) >= 32) return 0;
  std::size_t elements = 1;
  for (const int dim : filter->dims) elements *= static_cast<std::size_t>(dim);
  return elements * sizeof(float);
}

}  // namespace

cudnnStatus_t Forward(cudnnHandle_t handle, const void*, const cudnnTensorDescriptor_t x_desc,
                      const void*, const cudnnFilterDescriptor_t w_desc, const void*,
                      const cudnnConvolutionDescriptor_t desc, cudnnConvolutionFwdAlgo_t, void*,
                      std::size_t, const void*, const cudnnTensorDescriptor_t y_desc, void* y) {
  return Run(handle, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
             ConvolutionDescriptor::Find(desc), TensorDescriptor::Find(x_desc),
             FilterDescriptor::Find(w_desc), TensorDescriptor::Find(y_desc), y);
}

cudnnStatus_t BackwardData(cudnnHandle_t handle, const void*, const cudnnFilterDescriptor_t w_desc,
                           const void*, const cudnnTensorDescriptor_t dy_desc, const void*,
                           const cudnnConvolutionDescriptor_t desc, cudnnConvolutionBwdDataAlgo_t,
                           void*, std::size_t, const void*, const cudnnTensorDescriptor_t dx_desc,
                           void* dx) {
  return Run(handle, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
             ConvolutionDescriptor::Find(desc), TensorDescriptor::Find(dy_desc),
             FilterDescriptor::Find(w_desc), TensorDescriptor::Find(dx_desc), dx);
}

cudnnStatus_t BackwardFilter(cudnnHandle_t handle, const void*,
                             const cudnnTensorDescriptor_t x_desc, const void*,
                             const cudnnTensorDescriptor_t dy_desc, const void*,
                             const cudnnConvolutionDescriptor_t desc,
                             cudnnConvolutionBwdFilterAlgo_t, void*, std::size_t, const void*,
                             const cudnnFilterDescriptor_t dw_desc, void* dw) {
  return Run(handle, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
             ConvolutionDescriptor::Find(desc), TensorDescriptor::Find(x_desc),
             TensorDescriptor::Find(dy_desc), FilterDescriptor::Find(dw_desc), dw);
}

cudnnStatus_t BiasActivationForward(cudnnHandle_t handle, const void*,
                                    const cudnnTensorDescriptor_t x_desc, const void*,
                                    const cudnnFilterDescriptor_t w_desc, const void*,
                                    const cudnnConvolutionDescriptor_t desc,
                                    cudnnConvolutionFwdAlgo_t, void*, std::size_t, const void*,
                                    const cudnnTensorDescriptor_t z_desc, const void*,
                                    const cudnnTensorDescriptor_t bias_desc, const void*,
                                    const cudnnActivationDescriptor_t activation,
                                    const cudnnTensorDescriptor_t y_desc, void* y) {
  const Context* context = Context::Find(handle);
  const ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(desc);
  const TensorDescriptor* x = TensorDescriptor::Find(x_desc);
  const FilterDescriptor* w = FilterDescriptor::Find(w_desc);
  const TensorDescriptor* z = TensorDescriptor::Find(z_desc);
  const TensorDescriptor* bias = TensorDescriptor::Find(bias_desc);
  const TensorDescriptor* result = TensorDescriptor::Find(y_desc);
  if (context == nullptr || descriptor == nullptr || x == nullptr || w == nullptr || z == nullptr ||
      bias == nullptr || result == nullptr || ActivationDescriptor::Find(activation) == nullptr) {
    return Fail(CUDNN_STATUS_BAD_PARAM, "a handle, descriptor or buffer is missing");
  }
  // The convolution's own result never reaches memory; bias, addend and activation follow in one
  // pass.
  Problem problem{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, descriptor, ShapeOf(*x),
                  ShapeOf(*w), ShapeOf(*result)};
  const Tensor written = problem.result;
  problem.result.is_virtual = true;
  GraphWork work;
  AddConvolution(problem, work);
  workload::DnnOperation add{};
  add.kind = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
  add.mode = CUDNN_POINTWISE_ADD;
  GraphWork::AddInput(add, work.Add(3, problem.result));
  GraphWork::AddInput(add, work.Add(4, ShapeOf(*bias)));
  GraphWork::AddInput(add, work.Add(5, ShapeOf(*z)));
  GraphWork::AddOutput(add, work.Add(6, written));
  work.Add(add);
  return Submit(*context, work.Bytes(EngineOf(problem), {}), y, ExtentOf(written));
}

cudnnStatus_t GetForward(cudnnHandle_t handle, const cudnnTensorDescriptor_t,
                         const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t desc,
                         const cudnnTensorDescriptor_t, const int requested, int* returned,
                         cudnnConvolutionFwdAlgoPerf_t* results) {
  return Answer(handle, ConvolutionDescriptor::Find(desc),
                CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 0, requested, returned, results);
}

cudnnStatus_t FindForward(cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void*,
                          const cudnnFilterDescriptor_t w, const void*,
                          const cudnnConvolutionDescriptor_t desc, const cudnnTensorDescriptor_t y,
                          void*, const int requested, int* returned,
                          cudnnConvolutionFwdAlgoPerf_t* results, void*, std::size_t) {
  return GetForward(handle, x, w, desc, y, requested, returned, results);
}

cudnnStatus_t GetBackwardData(cudnnHandle_t handle, const cudnnFilterDescriptor_t,
                              const cudnnTensorDescriptor_t,
                              const cudnnConvolutionDescriptor_t desc,
                              const cudnnTensorDescriptor_t, const int requested, int* returned,
                              cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return Answer(handle, ConvolutionDescriptor::Find(desc), CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 0,
                requested, returned, results);
}

cudnnStatus_t FindBackwardData(cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const void*,
                               const cudnnTensorDescriptor_t dy, const void*,
                               const cudnnConvolutionDescriptor_t desc,
                               const cudnnTensorDescriptor_t dx, void*, const int requested,
                               int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results, void*,
                               std::size_t) {
  return GetBackwardData(handle, w, dy, desc, dx, requested, returned, results);
}

cudnnStatus_t GetBackwardFilter(cudnnHandle_t handle, const cudnnTensorDescriptor_t,
                                const cudnnTensorDescriptor_t,
                                const cudnnConvolutionDescriptor_t desc,
                                const cudnnFilterDescriptor_t dw, const int requested,
                                int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return Answer(handle, ConvolutionDescriptor::Find(desc), CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
                FilterWorkspace(dw), requested, returned, results);
}

cudnnStatus_t FindBackwardFilter(cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const void*,
                                 const cudnnTensorDescriptor_t dy, const void*,
                                 const cudnnConvolutionDescriptor_t desc,
                                 const cudnnFilterDescriptor_t dw, void*, const int requested,
                                 int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results, void*,
                                 std::size_t) {
  return GetBackwardFilter(handle, x, dy, desc, dw, requested, returned, results);
}

cudnnStatus_t ForwardWorkspace(cudnnHandle_t handle, const cudnnTensorDescriptor_t,
                               const cudnnFilterDescriptor_t, const cudnnConvolutionDescriptor_t,
                               const cudnnTensorDescriptor_t, cudnnConvolutionFwdAlgo_t,
                               std::size_t* bytes) {
  return AnswerSize(handle, 0, bytes);
}

cudnnStatus_t BackwardDataWorkspace(cudnnHandle_t handle, const cudnnFilterDescriptor_t,
                                    const cudnnTensorDescriptor_t,
                                    const cudnnConvolutionDescriptor_t,
                                    const cudnnTensorDescriptor_t, cudnnConvolutionBwdDataAlgo_t,
                                    std::size_t* bytes) {
  return AnswerSize(handle, 0, bytes);
}

cudnnStatus_t BackwardFilterWorkspace(cudnnHandle_t handle, const cudnnTensorDescriptor_t,
                                      const cudnnTensorDescriptor_t,
                                      const cudnnConvolutionDescriptor_t,
                                      const cudnnFilterDescriptor_t dw,
                                      cudnnConvolutionBwdFilterAlgo_t, std::size_t* bytes) {
  return AnswerSize(handle, FilterWorkspace(dw), bytes);
}

}  // namespace eidolon::shim::cudnn::convolution
