// Batch normalisation of cuDNN's older interface, which PyTorch uses: each call is a graph of one
// normalisation operation.
#pragma once

#include <cudnn.h>

#include <cstddef>

namespace eidolon::shim::cudnn::batch_norm {

cudnnStatus_t ForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                              const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x,
                              const cudnnTensorDescriptor_t y_desc, void* y,
                              const cudnnTensorDescriptor_t scale_desc, const void* scale,
                              const void* bias, double factor, void* running_mean,
                              void* running_variance, double epsilon, void* saved_mean,
                              void* saved_variance);
cudnnStatus_t ForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnTensorDescriptor_t z_desc, const void* z, const cudnnTensorDescriptor_t y_desc,
    void* y, const cudnnTensorDescriptor_t scale_desc, const void* scale, const void* bias,
    double factor, void* running_mean, void* running_variance, double epsilon, void* saved_mean,
    void* saved_variance, cudnnActivationDescriptor_t activation, void* workspace,
    std::size_t workspace_bytes, void* reserve, std::size_t reserve_bytes);
cudnnStatus_t ForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha,
                               const void* beta, const cudnnTensorDescriptor_t x_desc,
                               const void* x, const cudnnTensorDescriptor_t y_desc, void* y,
                               const cudnnTensorDescriptor_t scale_desc, const void* scale,
                               const void* bias, const void* mean, const void* variance,
                               double epsilon);
cudnnStatus_t Backward(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha_data,
                       const void* beta_data, const void* alpha_parameter,
                       const void* beta_parameter, const cudnnTensorDescriptor_t x_desc,
                       const void* x, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                       const cudnnTensorDescriptor_t dx_desc, void* dx,
                       const cudnnTensorDescriptor_t scale_desc, const void* scale, void* dscale,
                       void* dbias, double epsilon, const void* saved_mean,
                       const void* saved_variance);
cudnnStatus_t BackwardEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
                         const void* alpha_data, const void* beta_data, const void* alpha_parameter,
                         const void* beta_parameter, const cudnnTensorDescriptor_t x_desc,
                         const void* x, const cudnnTensorDescriptor_t y_desc, const void* y,
                         const cudnnTensorDescriptor_t dy_desc, const void* dy,
                         const cudnnTensorDescriptor_t dz_desc, void* dz,
                         const cudnnTensorDescriptor_t dx_desc, void* dx,
                         const cudnnTensorDescriptor_t scale_desc, const void* scale,
                         const void* bias, void* dscale, void* dbias, double epsilon,
                         const void* saved_mean, const void* saved_variance,
                         cudnnActivationDescriptor_t activation, void* workspace,
                         std::size_t workspace_bytes, void* reserve, std::size_t reserve_bytes);

// Nothing beside the tensors is needed.
cudnnStatus_t ForwardWorkspace(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                               cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
                               const cudnnTensorDescriptor_t z, const cudnnTensorDescriptor_t y,
                               const cudnnTensorDescriptor_t scale,
                               const cudnnActivationDescriptor_t activation, std::size_t* bytes);
cudnnStatus_t BackwardWorkspace(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                cudnnBatchNormOps_t ops, const cudnnTensorDescriptor_t x,
                                const cudnnTensorDescriptor_t y, const cudnnTensorDescriptor_t dy,
                                const cudnnTensorDescriptor_t dz, const cudnnTensorDescriptor_t dx,
                                const cudnnTensorDescriptor_t scale,
                                const cudnnActivationDescriptor_t activation, std::size_t* bytes);
cudnnStatus_t ReserveSpace(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
                           const cudnnActivationDescriptor_t activation,
                           const cudnnTensorDescriptor_t x, std::size_t* bytes);

}  // namespace eidolon::shim::cudnn::batch_norm
