// Descriptors of cuDNN's older interface: stored, echoed, and used by the convolutions and
// normalisations that programs still call there.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cudnn {

struct TensorDescriptor : library::Opaque<TensorDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e74656e31u;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims, strides;
};
struct FilterDescriptor : library::Opaque<FilterDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e66696c31u;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::vector<int> dims;
};
struct ConvolutionDescriptor : library::Opaque<ConvolutionDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e636f6e31u;
  std::vector<int> pads, strides, dilations;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math_type = CUDNN_DEFAULT_MATH;
  int groups = 1;
};
struct ActivationDescriptor : library::Opaque<ActivationDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e61637431u;
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0;
};
struct DropoutDescriptor : library::Opaque<DropoutDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e64726f31u;
  float probability = 0;
  void* states = nullptr;
  unsigned long long seed = 0;
};
struct SpatialTransformerDescriptor : library::Opaque<SpatialTransformerDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e73706131u;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> dims;
};

// Returns shapes as the graph interface describes them. Strides of filters follow their format.
Tensor ShapeOf(const TensorDescriptor& descriptor);
Tensor ShapeOf(const FilterDescriptor& descriptor);

namespace tensor {
cudnnStatus_t Create(cudnnTensorDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnTensorDescriptor_t descriptor);
cudnnStatus_t SetNd(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank,
                    const int* dims, const int* strides);
cudnnStatus_t Set4d(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t format,
                    cudnnDataType_t type, int n, int c, int h, int w);
cudnnStatus_t Set4dStrided(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int n, int c,
                           int h, int w, int stride_n, int stride_c, int stride_h, int stride_w);
cudnnStatus_t GetNd(const cudnnTensorDescriptor_t descriptor, int requested, cudnnDataType_t* type,
                    int* rank, int* dims, int* strides);
cudnnStatus_t GetSize(const cudnnTensorDescriptor_t descriptor, std::size_t* bytes);
}  // namespace tensor

namespace filter {
cudnnStatus_t Create(cudnnFilterDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnFilterDescriptor_t descriptor);
cudnnStatus_t SetNd(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                    cudnnTensorFormat_t format, int rank, const int* dims);
cudnnStatus_t Set4d(cudnnFilterDescriptor_t descriptor, cudnnDataType_t type,
                    cudnnTensorFormat_t format, int k, int c, int h, int w);
cudnnStatus_t GetNd(const cudnnFilterDescriptor_t descriptor, int requested, cudnnDataType_t* type,
                    cudnnTensorFormat_t* format, int* rank, int* dims);
cudnnStatus_t GetSize(const cudnnFilterDescriptor_t descriptor, std::size_t* bytes);
}  // namespace filter

namespace convolution_descriptor {
cudnnStatus_t Create(cudnnConvolutionDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnConvolutionDescriptor_t descriptor);
cudnnStatus_t SetNd(cudnnConvolutionDescriptor_t descriptor, int rank, const int* pads,
                    const int* strides, const int* dilations, cudnnConvolutionMode_t mode,
                    cudnnDataType_t compute_type);
cudnnStatus_t Set2d(cudnnConvolutionDescriptor_t descriptor, int pad_h, int pad_w, int stride_h,
                    int stride_w, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                    cudnnDataType_t compute_type);
cudnnStatus_t SetGroupCount(cudnnConvolutionDescriptor_t descriptor, int groups);
cudnnStatus_t GetGroupCount(cudnnConvolutionDescriptor_t descriptor, int* groups);
cudnnStatus_t SetMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t type);
cudnnStatus_t GetMathType(cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t* type);
}  // namespace convolution_descriptor

namespace activation {
cudnnStatus_t Create(cudnnActivationDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnActivationDescriptor_t descriptor);
cudnnStatus_t Set(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                  cudnnNanPropagation_t nan, double coefficient);
}  // namespace activation

namespace dropout {
cudnnStatus_t Create(cudnnDropoutDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnDropoutDescriptor_t descriptor);
cudnnStatus_t GetStatesSize(cudnnHandle_t handle, std::size_t* bytes);
// Fills the states on the device.
cudnnStatus_t Set(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float probability,
                  void* states, std::size_t state_bytes, unsigned long long seed);
cudnnStatus_t Restore(cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float probability,
                      void* states, std::size_t state_bytes, unsigned long long seed);
}  // namespace dropout

}  // namespace eidolon::shim::cudnn
