// Argument structures of PyTorch's kernels that hold arrays of which a launch uses the front part
// only; the rest is whatever stood on the host's stack. The layouts are those of
// ATen/native/cuda/MultiTensorApply.cuh and Shape.cu; builds for CUDA 13 have 32 KB for a kernel's
// arguments, older ones 4 KB, and so has apex, whose lists DeepSpeed and Transformer Engine copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace eidolon::torch_layout {

enum class ArgumentSpace : std::uint8_t { kLarge, kSmall };  // 32 KB, 4 KB.

// Lists of tensors, split into chunks, one for each block: addresses[depth][tensors],
// numel[tensors], `extra` bytes for each tensor, then by block the tensor and the chunk (4 bytes).
struct TensorLists {
  static constexpr std::size_t kDepthMax = 5;
  static constexpr std::size_t kBlocks = 2240;      // With large arguments.
  static constexpr std::size_t kBlocksSmall = 320;  // Otherwise.
  static constexpr double kChunk = 65536;           // Elements; apex passes its own.

  std::size_t depth = 0;
  std::size_t tensors = 0;
  std::size_t extra = 0;          // Scalars, or pointers to the tensors' step counters.
  bool has_scalars = false;       // That is what `extra` holds.
  bool has_first_tensor = false;  // start_tensor_this_launch follows the tables and is set.
  std::size_t padding = 0;        // Bytes at the very end that nobody sets or reads.
  std::size_t blocks = kBlocks;
  std::size_t count_bytes = 8;
  std::size_t tensor_index_bytes = 2;

  // Returns where the parts begin: element counts, what is extra, the tensor of each block, its
  // chunk.
  std::size_t CountsAt() const;
  std::size_t ExtrasAt() const;
  std::size_t OwnersAt() const;
  std::size_t ChunksAt() const;

  // Zeroes what none of so many launched blocks reads; nothing when the tables make no sense.
  // `bytes` starts at the structure, which is there whole.
  void ClearUnused(std::byte* bytes, std::uint32_t launched) const;

  // Numbers the chunks of each tensor from the first that the launch works on, and counts no
  // elements behind the last: large tensors are split over launches, which then do the same work.
  // Nothing when the tables make no sense. The kernel may no longer be run with `bytes`, which
  // start at the structure of PyTorch, with its chunks of kChunk elements.
  void NumberFromFirstChunk(std::byte* bytes, std::uint32_t launched) const;

  // The tensor of a block; the table begins at `owners`.
  std::size_t OwnerOf(const std::byte* owners, std::size_t block) const;
  std::size_t BytesOfTables() const;
  // Returns where the scalars lie: begin and end, equal without any.
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
  // Returns where the numbers of elements begin, `index` bytes each.
  std::size_t CountsAt() const;
  // The dimensions that a shape like those does not have.
  void ClearShape(std::byte* shape) const;

  std::size_t BytesOfShape() const;
};

// Returns the lists of PyTorch: TensorListMetadata, FusedOptimizerTensorListMetadata (`extra` of
// 8), or TensorListScalarListMetadata (scalars). Requires: 1 <= depth <= kDepthMax.
TensorLists TorchLists(std::size_t depth, std::size_t extra, bool has_scalars, ArgumentSpace space);
// Returns the lists of apex, with counts of 4 or 8 bytes. Requires: 1 <= depth <= kDepthMax.
TensorLists ApexLists(std::size_t depth, std::size_t count_bytes);

// From a kernel's mangled name and the size of the parameter that holds the structure; nothing when
// the name does not speak of it or the size is another.
std::optional<TensorLists> FindTensorLists(std::string_view name, std::size_t bytes);
std::optional<ConcatenatedInputs> FindConcatenatedInputs(std::string_view name, std::size_t bytes);

}  // namespace eidolon::torch_layout
