// Spatial transformers of cuDNN's older interface: PyTorch samples pictures with them
// (torch.nn.functional.grid_sample) and has no other way when they fail. A call is a graph of one
// resampling; small ones are computed.
#pragma once

#include <cudnn.h>

namespace eidolon::shim::cudnn::spatial_transformer {

cudnnStatus_t Create(cudnnSpatialTransformerDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnSpatialTransformerDescriptor_t descriptor);
cudnnStatus_t Set(cudnnSpatialTransformerDescriptor_t descriptor, cudnnSamplerType_t sampler,
                  cudnnDataType_t type, int rank, const int* dims);

// Tensors are batch, channels, height, width; the grid is batch, height, width of y, and 2.
cudnnStatus_t SamplerForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t descriptor,
                             const void* alpha, const cudnnTensorDescriptor_t x_desc, const void* x,
                             const void* grid, const void* beta, cudnnTensorDescriptor_t y_desc,
                             void* y);
cudnnStatus_t SamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t descriptor,
                              const void* alpha, const cudnnTensorDescriptor_t x_desc,
                              const void* x, const void* beta,
                              const cudnnTensorDescriptor_t dx_desc, void* dx,
                              const void* alpha_grid, const cudnnTensorDescriptor_t dy_desc,
                              const void* dy, const void* grid, const void* beta_grid, void* dgrid);

}  // namespace eidolon::shim::cudnn::spatial_transformer
