// Convolutions of cuDNN's older interface: each call is a graph of one operation.
#pragma once

#include <cudnn.h>

#include <cstddef>

namespace eidolon::shim::cudnn::convolution {

cudnnStatus_t Forward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_desc,
                      const void* x, const cudnnFilterDescriptor_t w_desc, const void* w,
                      const cudnnConvolutionDescriptor_t desc, cudnnConvolutionFwdAlgo_t algorithm,
                      void* workspace, std::size_t workspace_bytes, const void* beta,
                      const cudnnTensorDescriptor_t y_desc, void* y);
cudnnStatus_t BackwardData(cudnnHandle_t handle, const void* alpha,
                           const cudnnFilterDescriptor_t w_desc, const void* w,
                           const cudnnTensorDescriptor_t dy_desc, const void* dy,
                           const cudnnConvolutionDescriptor_t desc,
                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                           std::size_t workspace_bytes, const void* beta,
                           const cudnnTensorDescriptor_t dx_desc, void* dx);
cudnnStatus_t BackwardFilter(cudnnHandle_t handle, const void* alpha,
                             const cudnnTensorDescriptor_t x_desc, const void* x,
                             const cudnnTensorDescriptor_t dy_desc, const void* dy,
                             const cudnnConvolutionDescriptor_t desc,
                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                             std::size_t workspace_bytes, const void* beta,
                             const cudnnFilterDescriptor_t dw_desc, void* dw);
cudnnStatus_t BiasActivationForward(
    cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t x_desc, const void* x,
    const cudnnFilterDescriptor_t w_desc, const void* w, const cudnnConvolutionDescriptor_t desc,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t workspace_bytes,
    const void* alpha2, const cudnnTensorDescriptor_t z_desc, const void* z,
    const cudnnTensorDescriptor_t bias_desc, const void* bias,
    const cudnnActivationDescriptor_t activation, const cudnnTensorDescriptor_t y_desc, void* y);

// The one algorithm, by heuristic or by "measuring": the timing service decides how fast it is, so
// nothing is run. Times read -1, as cuDNN's heuristics answer.
cudnnStatus_t GetForward(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                         const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t desc,
                         const cudnnTensorDescriptor_t y, const int requested, int* returned,
                         cudnnConvolutionFwdAlgoPerf_t* results);
cudnnStatus_t FindForward(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc, const void* x,
                          const cudnnFilterDescriptor_t w_desc, const void* w,
                          const cudnnConvolutionDescriptor_t desc,
                          const cudnnTensorDescriptor_t y_desc, void* y, const int requested,
                          int* returned, cudnnConvolutionFwdAlgoPerf_t* results, void* workspace,
                          std::size_t workspace_bytes);
cudnnStatus_t GetBackwardData(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                              const cudnnTensorDescriptor_t dy,
                              const cudnnConvolutionDescriptor_t desc,
                              const cudnnTensorDescriptor_t dx, const int requested, int* returned,
                              cudnnConvolutionBwdDataAlgoPerf_t* results);
cudnnStatus_t FindBackwardData(cudnnHandle_t handle, const cudnnFilterDescriptor_t w_desc,
                               const void* w, const cudnnTensorDescriptor_t dy_desc, const void* dy,
                               const cudnnConvolutionDescriptor_t desc,
                               const cudnnTensorDescriptor_t dx_desc, void* dx, const int requested,
                               int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results,
                               void* workspace, std::size_t workspace_bytes);
cudnnStatus_t GetBackwardFilter(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                const cudnnTensorDescriptor_t dy,
                                const cudnnConvolutionDescriptor_t desc,
                                const cudnnFilterDescriptor_t dw, const int requested,
                                int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results);
cudnnStatus_t FindBackwardFilter(cudnnHandle_t handle, const cudnnTensorDescriptor_t x_desc,
                                 const void* x, const cudnnTensorDescriptor_t dy_desc,
                                 const void* dy, const cudnnConvolutionDescriptor_t desc,
                                 const cudnnFilterDescriptor_t dw_desc, void* dw,
                                 const int requested, int* returned,
                                 cudnnConvolutionBwdFilterAlgoPerf_t* results, void* workspace,
                                 std::size_t workspace_bytes);
cudnnStatus_t ForwardWorkspace(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                               const cudnnFilterDescriptor_t w,
                               const cudnnConvolutionDescriptor_t desc,
                               const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                               std::size_t* bytes);
cudnnStatus_t BackwardDataWorkspace(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                    const cudnnTensorDescriptor_t dy,
                                    const cudnnConvolutionDescriptor_t desc,
                                    const cudnnTensorDescriptor_t dx,
                                    cudnnConvolutionBwdDataAlgo_t algorithm, std::size_t* bytes);
cudnnStatus_t BackwardFilterWorkspace(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                      const cudnnTensorDescriptor_t dy,
                                      const cudnnConvolutionDescriptor_t desc,
                                      const cudnnFilterDescriptor_t dw,
                                      cudnnConvolutionBwdFilterAlgo_t algorithm,
                                      std::size_t* bytes);

}  // namespace eidolon::shim::cudnn::convolution
