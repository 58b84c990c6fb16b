// The loss of connectionist temporal classification, which torch.nn.functional.ctc_loss leaves to
// cuDNN when the labels fit it. With T steps, B members, A classes and labels of at most L
// elements, a call reads T B A probabilities, writes as many gradients when they are asked for, and
// keeps T B (2 L + 1) states of each recursion. That these go step by step is not in its time. L is
// that of the lengths on the host, or else the longest that the descriptor names.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cudnn {

struct CtcLossDescriptor : library::Opaque<CtcLossDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e63746331u;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int longest_label = 0;
};

namespace ctc_loss {

cudnnStatus_t Create(cudnnCTCLossDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnCTCLossDescriptor_t descriptor);
cudnnStatus_t Set(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type);
cudnnStatus_t SetEx(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                    cudnnLossNormalizationMode_t normalization, cudnnNanPropagation_t nan);
cudnnStatus_t SetBounded(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                         cudnnLossNormalizationMode_t normalization, cudnnNanPropagation_t nan,
                         int longest_label);
cudnnStatus_t SetBoundedV9(cudnnCTCLossDescriptor_t descriptor, cudnnDataType_t type,
                           cudnnLossNormalizationMode_t normalization, cudnnCTCGradMode_t gradients,
                           int longest_label);

cudnnStatus_t WorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probabilities,
                            const cudnnTensorDescriptor_t gradients, const int* labels,
                            const int* label_lengths, const int* input_lengths,
                            cudnnCTCLossAlgo_t algorithm, cudnnCTCLossDescriptor_t descriptor,
                            std::size_t* bytes);
cudnnStatus_t WorkspaceSizeBounded(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                                   cudnnCTCLossDescriptor_t descriptor,
                                   const cudnnTensorDescriptor_t probabilities,
                                   const cudnnTensorDescriptor_t gradients, std::size_t* bytes);
cudnnStatus_t Run(cudnnHandle_t handle, const cudnnTensorDescriptor_t shape,
                  const void* probabilities, const int* labels, const int* label_lengths,
                  const int* input_lengths, void* costs,
                  const cudnnTensorDescriptor_t gradient_shape, void* gradients,
                  cudnnCTCLossAlgo_t algorithm, cudnnCTCLossDescriptor_t descriptor,
                  void* workspace, std::size_t bytes);
cudnnStatus_t RunBounded(cudnnHandle_t handle, cudnnCTCLossAlgo_t algorithm,
                         cudnnCTCLossDescriptor_t descriptor, const cudnnTensorDescriptor_t shape,
                         const void* probabilities, const int* labels, const int* label_lengths,
                         const int* input_lengths, void* costs,
                         const cudnnTensorDescriptor_t gradient_shape, void* gradients,
                         std::size_t bytes, void* workspace);

}  // namespace ctc_loss
}  // namespace eidolon::shim::cudnn
