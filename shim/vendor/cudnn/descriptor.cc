// Descriptors of the older interface hold what they were given; the shape that a work needs is
// derived from them. A tensor has strides of its own, while those of a filter follow from its
// format: in NHWC the channel runs fastest, whatever the order of the dimensions in the call.
// Setting a dropout descriptor fills its states on the device and is therefore work, while
// restoring one is not.
#include "shim/vendor/cudnn/descriptor.h"

#include <algorithm>
#include <array>

#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cudnn/descriptor_handle.h"
#include "shim/vendor/cudnn/handle.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cudnn {
namespace {

bool AreValid(int rank, const int* dims) {
  return rank >= 1 && rank <= CUDNN_DIM_MAX && dims != nullptr &&
         std::all_of(dims, dims + rank, [](int dim) { return dim > 0; });
}

std::vector<int> PackedStrides(const std::vector<int>& dims, cudnnTensorFormat_t format) {
  const int rank = static_cast<int>(dims.size());
  std::vector<int> strides(dims.size(), 1);
  if (format == CUDNN_TENSOR_NHWC && rank >= 3) {
    // Channels run fastest, then the spatial dimensions from the last.
    int step = dims[1];
    for (int i = rank - 1; i >= 2; --i) {
      strides[static_cast<std::size_t>(i)] = step;
      step *= dims[static_cast<std::size_t>(i)];
    }
    strides[0] = step;
    return strides;
  }
  for (int i = rank - 2; i >= 0; --i) {
    const auto index = static_cast<std::size_t>(i);
    strides[index] = strides[index + 1] * dims[index + 1];
  }
  return strides;
}

}  // namespace

Tensor ShapeOf(const TensorDescriptor& descriptor) {
  return {.dims = {descriptor.dims.begin(), descriptor.dims.end()},
          .strides = {descriptor.strides.begin(), descriptor.strides.end()},
          .type = CudaTypeOf(descriptor.type)};
}

Tensor ShapeOf(const FilterDescriptor& descriptor) {
  const std::vector<int> strides = PackedStrides(descriptor.dims, descriptor.format);
  return {.dims = {descriptor.dims.begin(), descriptor.dims.end()},
          .strides = {strides.begin(), strides.end()},
          .type = CudaTypeOf(descriptor.type)};
}

namespace tensor {

cudnnStatus_t Create(cudnnTensorDescriptor_t* descriptor) {
  return Give<TensorDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnTensorDescriptor_t descriptor) {
  return Take<TensorDescriptor>(descriptor);
}

cudnnStatus_t SetNd(cudnnTensorDescriptor_t handle, cudnnDataType_t type, int rank, const int* dims,
                    const int* strides) {
  TensorDescriptor* descriptor = TensorDescriptor::Find(handle);
  if (descriptor == nullptr || !AreValid(rank, dims) || strides == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor->type = type;
  descriptor->dims.assign(dims, dims + rank);
  descriptor->strides.assign(strides, strides + rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set4d(cudnnTensorDescriptor_t handle, cudnnTensorFormat_t format,
                    cudnnDataType_t type, int n, int c, int h, int w) {
  const std::vector<int> dims = {n, c, h, w};
  return SetNd(handle, type, 4, dims.data(), PackedStrides(dims, format).data());
}

cudnnStatus_t Set4dStrided(cudnnTensorDescriptor_t handle, cudnnDataType_t type, int n, int c,
                           int h, int w, int stride_n, int stride_c, int stride_h, int stride_w) {
  const int dims[] = {n, c, h, w};
  const int strides[] = {stride_n, stride_c, stride_h, stride_w};
  return SetNd(handle, type, 4, dims, strides);
}

cudnnStatus_t GetNd(const cudnnTensorDescriptor_t handle, int requested, cudnnDataType_t* type,
                    int* rank, int* dims, int* strides) {
  const TensorDescriptor* descriptor = TensorDescriptor::Find(handle);
  if (descriptor == nullptr || type == nullptr || rank == nullptr || requested < 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *type = descriptor->type;
  *rank = static_cast<int>(descriptor->dims.size());
  const int given = std::min(requested, *rank);
  if (dims != nullptr) std::copy_n(descriptor->dims.begin(), given, dims);
  if (strides != nullptr) std::copy_n(descriptor->strides.begin(), given, strides);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetSize(const cudnnTensorDescriptor_t handle, std::size_t* bytes) {
  const TensorDescriptor* descriptor = TensorDescriptor::Find(handle);
  if (descriptor == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = ExtentOf(ShapeOf(*descriptor));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace tensor

namespace filter {

cudnnStatus_t Create(cudnnFilterDescriptor_t* descriptor) {
  return Give<FilterDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnFilterDescriptor_t descriptor) {
  return Take<FilterDescriptor>(descriptor);
}

cudnnStatus_t SetNd(cudnnFilterDescriptor_t handle, cudnnDataType_t type,
                    cudnnTensorFormat_t format, int rank, const int* dims) {
  FilterDescriptor* descriptor = FilterDescriptor::Find(handle);
  if (descriptor == nullptr || !AreValid(rank, dims)) return CUDNN_STATUS_BAD_PARAM;
  descriptor->type = type;
  descriptor->format = format;
  descriptor->dims.assign(dims, dims + rank);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set4d(cudnnFilterDescriptor_t handle, cudnnDataType_t type,
                    cudnnTensorFormat_t format, int k, int c, int h, int w) {
  const int dims[] = {k, c, h, w};
  return SetNd(handle, type, format, 4, dims);
}

cudnnStatus_t GetNd(const cudnnFilterDescriptor_t handle, int requested, cudnnDataType_t* type,
                    cudnnTensorFormat_t* format, int* rank, int* dims) {
  const FilterDescriptor* descriptor = FilterDescriptor::Find(handle);
  if (descriptor == nullptr || type == nullptr || format == nullptr || rank == nullptr ||
      requested < 0) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *type = descriptor->type;
  *format = descriptor->format;
  *rank = static_cast<int>(descriptor->dims.size());
  if (dims != nullptr) std::copy_n(descriptor->dims.begin(), std::min(requested, *rank), dims);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetSize(const cudnnFilterDescriptor_t handle, std::size_t* bytes) {
  const FilterDescriptor* descriptor = FilterDescriptor::Find(handle);
  if (descriptor == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *bytes = ExtentOf(ShapeOf(*descriptor));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace filter

namespace convolution_descriptor {

cudnnStatus_t Create(cudnnConvolutionDescriptor_t* descriptor) {
  return Give<ConvolutionDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnConvolutionDescriptor_t descriptor) {
  return Take<ConvolutionDescriptor>(descriptor);
}

cudnnStatus_t SetNd(cudnnConvolutionDescriptor_t handle, int rank, const int* pads,
                    const int* strides, const int* dilations, cudnnConvolutionMode_t mode,
                    cudnnDataType_t compute_type) {
  ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(handle);
  if (descriptor == nullptr || rank < 1 || rank > 4 || pads == nullptr || strides == nullptr ||
      dilations == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  descriptor->pads.assign(pads, pads + rank);
  descriptor->strides.assign(strides, strides + rank);
  descriptor->dilations.assign(dilations, dilations + rank);
  descriptor->mode = mode;
  descriptor->compute_type = compute_type;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set2d(cudnnConvolutionDescriptor_t handle, int pad_h, int pad_w, int stride_h,
                    int stride_w, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                    cudnnDataType_t compute_type) {
  const int pads[] = {pad_h, pad_w};
  const int strides[] = {stride_h, stride_w};
  const int dilations[] = {dilation_h, dilation_w};
  return SetNd(handle, 2, pads, strides, dilations, mode, compute_type);
}

cudnnStatus_t SetGroupCount(cudnnConvolutionDescriptor_t handle, int groups) {
  ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(handle);
  if (descriptor == nullptr || groups < 1) return CUDNN_STATUS_BAD_PARAM;
  descriptor->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t GetGroupCount(cudnnConvolutionDescriptor_t handle, int* groups) {
  const ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(handle);
  if (descriptor == nullptr || groups == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *groups = descriptor->groups;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t SetMathType(cudnnConvolutionDescriptor_t handle, cudnnMathType_t type) {
  ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(handle);
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  descriptor->math_type = type;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t GetMathType(cudnnConvolutionDescriptor_t handle, cudnnMathType_t* type) {
  const ConvolutionDescriptor* descriptor = ConvolutionDescriptor::Find(handle);
  if (descriptor == nullptr || type == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *type = descriptor->math_type;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace convolution_descriptor

namespace activation {

cudnnStatus_t Create(cudnnActivationDescriptor_t* descriptor) {
  return Give<ActivationDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnActivationDescriptor_t descriptor) {
  return Take<ActivationDescriptor>(descriptor);
}
cudnnStatus_t Set(cudnnActivationDescriptor_t handle, cudnnActivationMode_t mode,
                  cudnnNanPropagation_t nan, double coefficient) {
  ActivationDescriptor* descriptor = ActivationDescriptor::Find(handle);
  if (descriptor == nullptr) return CUDNN_STATUS_BAD_PARAM;
  descriptor->mode = mode;
  descriptor->nan = nan;
  descriptor->coefficient = coefficient;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace activation

namespace dropout {

cudnnStatus_t Create(cudnnDropoutDescriptor_t* descriptor) {
  return Give<DropoutDescriptor>(descriptor);
}
cudnnStatus_t Destroy(cudnnDropoutDescriptor_t descriptor) {
  return Take<DropoutDescriptor>(descriptor);
}

cudnnStatus_t GetStatesSize(cudnnHandle_t handle, std::size_t* bytes) {
  const Context* context = Context::Find(handle);
  const core::Session* session = core::Session::Get();
  if (context == nullptr || session == nullptr || bytes == nullptr) return CUDNN_STATUS_BAD_PARAM;
  // One XORWOW state (48 bytes) for each thread that a GPU can hold.
  const auto& device = session->device(gpu::CurrentDevice());
  *bytes = std::size_t{48} * device.multiprocessors * device.max_threads_per_multiprocessor;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Set(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float probability,
                  void* states, std::size_t state_bytes, unsigned long long seed) {
  const auto status = Restore(descriptor, handle, probability, states, state_bytes, seed);
  if (status != CUDNN_STATUS_SUCCESS || states == nullptr) return status;
  const cudaStream_t stream = Context::Find(handle)->stream;
  const gpu::Status submitted =
      library::Submit(stream, library::Call{.name = "cudnn.dropout_states",
                                            .type = CUDA_R_32U,
                                            .flops = 0,
                                            .memory_bytes = state_bytes,
                                            .numbers = {static_cast<std::int64_t>(state_bytes)}});
  if (submitted == gpu::Status::kSuccess) library::NoteWritten(stream, states, state_bytes);
  return ToCudnn(submitted);
}

cudnnStatus_t Restore(cudnnDropoutDescriptor_t handle, cudnnHandle_t context, float probability,
                      void* states, std::size_t, unsigned long long seed) {
  DropoutDescriptor* descriptor = DropoutDescriptor::Find(handle);
  if (descriptor == nullptr || Context::Find(context) == nullptr) return CUDNN_STATUS_BAD_PARAM;
  if (probability < 0 || probability > 1) return CUDNN_STATUS_BAD_PARAM;
  descriptor->probability = probability;
  descriptor->states = states;
  descriptor->seed = seed;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace dropout

}  // namespace eidolon::shim::cudnn
