// Tensors as kernels get them whole: TensorInfo (ATen/cuda/detail/TensorInfo.cuh) and
// GenericPackedTensorAccessor (ATen/core/TensorAccessor.h). Offsets count from the structure's
// beginning; `index` is the width of sizes and strides, 4 or 8.
#pragma once

#include <cstddef>

namespace eidolon::torch_layout {

// {T* data; index sizes[25]; index strides[25]; int dims}.
struct TensorInfo {
  static constexpr std::size_t kDimensions = 25;

  std::size_t index = 4;

  std::size_t SizeAt(std::size_t dimension) const { return 8 + index * dimension; }
  std::size_t DimensionsAt() const { return 8 + 2 * kDimensions * index; }
};

// {T* data; index sizes[N]; index strides[N]}, where N follows from the structure's bytes.
struct PackedAccessor {
  std::size_t index = 4;
  std::size_t dimensions = 0;

  static constexpr std::size_t BytesMin(std::size_t index) { return 8 + 2 * index; }
  // Requires: bytes >= BytesMin(index).
  static PackedAccessor OfBytes(std::size_t bytes, std::size_t index) {
    return {.index = index, .dimensions = (bytes - 8) / index / 2};
  }
  std::size_t SizeAt(std::size_t dimension) const { return 8 + index * dimension; }
  std::size_t StrideAt(std::size_t dimension) const { return 8 + index * (dimensions + dimension); }
};

}  // namespace eidolon::torch_layout
