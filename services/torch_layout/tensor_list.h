// Argument structures of PyTorch's kernels that hold arrays of which a launch uses the front part
// only; the rest is whatever stood on the host's stack. The layouts are those of
// ATen/native/cuda/MultiTensorApply.cuh and Shape.cu of CUDA 13 builds (large kernel arguments).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace eidolon::torch_layout {

// Lists of tensors, split into chunks, one for each block: addresses[depth][tensors],
// numel[tensors], `extra` bytes for each tensor, then by block the tensor (2 bytes) and the chunk.
struct TensorLists {
  static constexpr std::size_t kBlocks = 2240;

  std::size_t depth = 0;
  std::size_t tensors = 0;
  std::size_t extra = 0;
  bool has_scalars = false;  // That is what `extra` holds.
  std::size_t padding = 0;   // Bytes at the very end.

  // Zeroes what none of the launch's blocks reads; nothing when the tables make no sense. `bytes`
  // starts at the structure, which is there whole.
  void ClearUnused(std::byte* bytes, std::uint32_t blocks) const;

  std::size_t BytesOfTables() const;
  // Where the scalars lie: begin and end, equal without any.
  std::pair<std::size_t, std::size_t> Scalars() const;
};

// Inputs of a concatenation, one for each grid.y: address[inputs], offset, size and count
// [inputs] each of `index` bytes, is_contiguous[inputs], {size[4], stride[4]}[shapes] likewise: a
// shape of `dimensions` for each input, or a single one that nobody reads, as all are contiguous.
struct ConcatenatedInputs {
  std::size_t inputs = 0;
  std::size_t index = 0;
  std::size_t shapes = 0;
  std::size_t dimensions = 0;

  // Zeroes what belongs to no input of the first `used`.
  void ClearUnused(std::byte* bytes, std::uint32_t used) const;
  // The dimensions that a shape like those does not have.
  void ClearShape(std::byte* shape) const;

  std::size_t BytesOfShape() const;
};

// From a kernel's mangled name and the size of the parameter that holds the structure; nothing when
// the name does not speak of it or the size is another.
std::optional<TensorLists> FindTensorLists(std::string_view name, std::size_t bytes);
std::optional<ConcatenatedInputs> FindConcatenatedInputs(std::string_view name, std::size_t bytes);

}  // namespace eidolon::torch_layout
