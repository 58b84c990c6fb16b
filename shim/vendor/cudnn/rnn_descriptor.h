// Stores a program's description of a recurrent network before it runs one: the network, the
// lengths of the sequences, and where each matrix lies among the weights.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cudnn {

struct RnnDescriptor : library::Opaque<RnnDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e726e6e31u;
  cudnnRNNAlgo_t algorithm = CUDNN_RNN_ALGO_STANDARD;
  cudnnRNNMode_t cell = CUDNN_RNN_TANH;
  cudnnRNNBiasMode_t bias = CUDNN_RNN_DOUBLE_BIAS;
  cudnnDirectionMode_t direction = CUDNN_UNIDIRECTIONAL;
  cudnnRNNInputMode_t input_mode = CUDNN_LINEAR_INPUT;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnDataType_t precision = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  std::int32_t input_size = 0;  // 0: not set.
  std::int32_t hidden_size = 0;
  std::int32_t output_size = 0;  // Of one direction: the projection's, or else hidden_size.
  std::int32_t layers = 0;
  cudnnDropoutDescriptor_t dropout = nullptr;
  std::uint32_t flags = 0;

  int gates() const { return cell == CUDNN_LSTM ? 4 : cell == CUDNN_GRU ? 3 : 1; }
  int directions() const { return direction == CUDNN_BIDIRECTIONAL ? 2 : 1; }
  bool projects() const { return output_size != hidden_size; }
  // Elements that a step of the layer takes from below.
  std::int64_t InputOf(int layer) const {
    return layer == 0 ? input_size : std::int64_t{output_size} * directions();
  }
  // False for a first layer that takes its input as it is.
  bool MultipliesInput(int layer) const { return layer > 0 || input_mode == CUDNN_LINEAR_INPUT; }
};

struct RnnDataDescriptor : library::Opaque<RnnDataDescriptor> {
  static constexpr std::uint64_t kMagic = 0x43754e4e726e6431u;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED;
  int max_length = 0;  // 0: not set.
  int batch = 0;
  int vector_size = 0;
  std::vector<int> lengths;  // One a member of the batch.
  double padding = 0;

  std::int64_t Steps() const;              // Of all members together.
  std::int64_t MembersAt(int step) const;  // Whose sequences reach that far.
  std::uint64_t Bytes() const;             // Of the tensor, padding included.
};

namespace rnn {

cudnnStatus_t Create(cudnnRNNDescriptor_t* descriptor);
cudnnStatus_t Destroy(cudnnRNNDescriptor_t descriptor);
cudnnStatus_t Set(cudnnRNNDescriptor_t descriptor, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,
                  cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                  cudnnRNNInputMode_t input_mode, cudnnDataType_t type, cudnnDataType_t precision,
                  cudnnMathType_t math, std::int32_t input_size, std::int32_t hidden_size,
                  std::int32_t projection_size, std::int32_t layers,
                  cudnnDropoutDescriptor_t dropout, std::uint32_t flags);
cudnnStatus_t Get(cudnnRNNDescriptor_t descriptor, cudnnRNNAlgo_t* algorithm, cudnnRNNMode_t* cell,
                  cudnnRNNBiasMode_t* bias, cudnnDirectionMode_t* direction,
                  cudnnRNNInputMode_t* input_mode, cudnnDataType_t* type,
                  cudnnDataType_t* precision, cudnnMathType_t* math, std::int32_t* input_size,
                  std::int32_t* hidden_size, std::int32_t* projection_size, std::int32_t* layers,
                  cudnnDropoutDescriptor_t* dropout, std::uint32_t* flags);

cudnnStatus_t CreateData(cudnnRNNDataDescriptor_t* descriptor);
cudnnStatus_t DestroyData(cudnnRNNDataDescriptor_t descriptor);
cudnnStatus_t SetData(cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t type,
                      cudnnRNNDataLayout_t layout, int max_length, int batch, int vector_size,
                      const int* lengths, void* padding);
cudnnStatus_t GetData(cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t* type,
                      cudnnRNNDataLayout_t* layout, int* max_length, int* batch, int* vector_size,
                      int requested, int* lengths, void* padding);

// The matrices of all layers and directions (of the input by gate, of the state by gate, of the
// projection), then their biases in the same order.
std::uint64_t WeightBytes(const RnnDescriptor& network);
cudnnStatus_t GetWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                                 std::size_t* bytes);
cudnnStatus_t GetWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor,
                              std::int32_t pseudo_layer, std::size_t weight_bytes,
                              const void* weights, std::int32_t linear,
                              cudnnTensorDescriptor_t matrix_descriptor, void** matrix,
                              cudnnTensorDescriptor_t bias_descriptor, void** bias);

}  // namespace rnn
}  // namespace eidolon::shim::cudnn
