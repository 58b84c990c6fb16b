// Tensors and operations of cuDNN graphs, for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

using DnnNumbers = std::vector<std::int64_t>;

// Without strides, each is 1: its channels lie next to each other.
inline DnnTensor TensorOf(std::int64_t uid, const DnnNumbers& dims, std::uint32_t type = 0,
                          bool is_virtual = false, const DnnNumbers& strides = {}) {
  DnnTensor tensor{};
  tensor.uid = uid;
  tensor.rank = static_cast<std::uint32_t>(dims.size());
  tensor.type = type;
  tensor.is_virtual = is_virtual;
  std::ranges::copy(dims, tensor.dims);
  std::fill_n(tensor.strides, dims.size(), 1);
  std::ranges::copy(strides, tensor.strides);
  return tensor;
}

inline DnnOperation OperationOf(std::uint32_t kind, const DnnNumbers& inputs,
                                const DnnNumbers& outputs, std::uint32_t mode = 0) {
  DnnOperation operation{};
  operation.kind = kind;
  operation.mode = mode;
  operation.input_count = static_cast<std::uint32_t>(inputs.size());
  operation.output_count = static_cast<std::uint32_t>(outputs.size());
  std::ranges::copy(inputs, operation.inputs);
  std::ranges::copy(outputs, operation.outputs);
  return operation;
}

inline DnnOperation ConvolutionOf(DnnOperation operation, std::uint32_t rank, std::int64_t pad,
                                  std::int64_t stride, std::int64_t dilation) {
  operation.convolution_rank = rank;
  std::fill_n(operation.pads, rank, pad);
  std::fill_n(operation.post_pads, rank, pad);
  std::fill_n(operation.conv_strides, rank, stride);
  std::fill_n(operation.dilations, rank, dilation);
  return operation;
}

}  // namespace eidolon::timing::kernel
