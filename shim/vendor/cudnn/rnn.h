// Recurrent networks (torch.nn.LSTM, GRU, RNN): each call becomes the GEMMs and the cells of its
// layers and steps, one behind the other on the handle's stream, as the standard algorithm issues
// them. With G gates, H hidden elements, P outputs of a direction, S steps of all sequences
// together, and B members at a step, for each layer and direction:
//
//   forward            a GEMM (G H) x 32 B of the input for every 32 steps; at each step a GEMM
//                      (G H) x B over P and a cell
//   backward, data     at each step a cell's gradient and a GEMM P x B over G H; a GEMM of the
//                      input's gradient for every 8 steps
//   backward, weights  GEMMs of the input's and the state's matrices over S, sums for biases
//
// A projection adds a GEMM to each step. Cells and sums cost the bytes and operations that they
// count. Persistent algorithms, and layers that overlap, are timed the same: too long.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cudnn::rnn {

// Work: the gates of all steps of a layer. Reserve, in training: gates, cell states, outputs and
// dropout masks of every layer.
cudnnStatus_t GetTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                                cudnnForwardMode_t mode, cudnnRNNDataDescriptor_t x_desc,
                                std::size_t* work_bytes, std::size_t* reserve_bytes);

cudnnStatus_t Forward(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                      cudnnForwardMode_t mode, const std::int32_t* device_lengths,
                      cudnnRNNDataDescriptor_t x_desc, const void* x,
                      cudnnRNNDataDescriptor_t y_desc, void* y, cudnnTensorDescriptor_t h_desc,
                      const void* hx, void* hy, cudnnTensorDescriptor_t c_desc, const void* cx,
                      void* cy, std::size_t weight_bytes, const void* weights,
                      std::size_t work_bytes, void* work, std::size_t reserve_bytes, void* reserve);

cudnnStatus_t BackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                           const std::int32_t* device_lengths, cudnnRNNDataDescriptor_t y_desc,
                           const void* y, const void* dy, cudnnRNNDataDescriptor_t x_desc, void* dx,
                           cudnnTensorDescriptor_t h_desc, const void* hx, const void* dhy,
                           void* dhx, cudnnTensorDescriptor_t c_desc, const void* cx,
                           const void* dcy, void* dcx, std::size_t weight_bytes,
                           const void* weights, std::size_t work_bytes, void* work,
                           std::size_t reserve_bytes, void* reserve);

cudnnStatus_t BackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                              cudnnWgradMode_t mode, const std::int32_t* device_lengths,
                              cudnnRNNDataDescriptor_t x_desc, const void* x,
                              cudnnTensorDescriptor_t h_desc, const void* hx,
                              cudnnRNNDataDescriptor_t y_desc, const void* y,
                              std::size_t weight_bytes, void* weight_gradients,
                              std::size_t work_bytes, void* work, std::size_t reserve_bytes,
                              void* reserve);

}  // namespace eidolon::shim::cudnn::rnn
