// Launches of PyTorch's kernels that move rows or elements by index, select or normalise, as the
// shim records them, for tests.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "services/contract/torch_layout/offset_calculator.h"
#include "services/timing/kernel/launch_test.h"

namespace eidolon::timing::kernel {

// Rows of a table that are moved by index.
struct IndexedRows {
  std::uint32_t rows = 0;  // Of the table.
  std::uint32_t width = 0;
  std::uint32_t indices = 0;
  const char* type = "float";
  std::uint32_t bytes = 4;  // Of an element.
};

// Returns what index_copy_ and scatter_add_ capture: an offset calculator of three operands, of
// which `index` has the same index for all elements of a row, pointers, and how many rows the table
// has.
inline std::string IndexClosure(const IndexedRows& moved, std::size_t index, int pointers) {
  using torch_layout::OffsetCalculator;
  constexpr std::size_t kOperands = 3;
  const OffsetCalculator layout{.operands = kOperands};
  const std::size_t behind = OffsetCalculator::AlignedBytes(kOperands);
  StructBytes closure(behind + 8 * (static_cast<std::size_t>(pointers) + 2));
  closure.Set<std::int32_t>(0, 2);
  closure.Set(OffsetCalculator::SizeAt(0), moved.width);
  closure.Set(OffsetCalculator::SizeAt(1), moved.indices);
  for (std::size_t operand = 0; operand < kOperands; ++operand) {
    const bool is_index = operand == index;
    const std::uint32_t row = operand == 0 ? 0 : moved.width * moved.bytes;
    closure.Set<std::uint32_t>(layout.StrideAt(0, operand), is_index ? 0 : moved.bytes);
    closure.Set<std::uint32_t>(layout.StrideAt(1, operand), is_index ? 8 : row);
  }
  std::size_t at = behind;
  for (int i = 0; i < pointers; ++i, at += 8) closure.Set(at, workload::kPointerTag);
  closure.Set<std::int64_t>(at, moved.rows);
  return closure.bytes();
}

inline KernelLaunch IndexCopy(const IndexedRows& moved) {
  constexpr std::uint32_t kPerBlock = 128 * 4;
  const std::string functor = "at::native::index_copy_kernel_impl<at::native::OpaqueType<" +
                              std::to_string(moved.bytes) +
                              "> >(at::TensorIterator&, long, long, long)::{lambda(int)#1}";
  const std::int64_t elements = std::int64_t{moved.indices} * moved.width;
  return LaunchBuilder("void at::native::index_elementwise_kernel<128, 4, " + functor + ">(long, " +
                       functor + ")")
      .Grid(static_cast<std::uint32_t>((elements + kPerBlock - 1) / kPerBlock))
      .Block(128)
      .Add(elements)
      .AddBytes(IndexClosure(moved, 1, 3), 8)
      .Build();
}

// `reduction`: "ReduceAdd", or "TensorAssign" for scatter_.
inline KernelLaunch Scatter(const IndexedRows& moved, const std::string& reduction = "ReduceAdd") {
  constexpr std::uint32_t kPerBlock = 128 * 8;
  const std::string functor = "at::native::_cuda_scatter_gather_internal_kernel<true, " +
                              std::string(moved.type) +
                              ", long>::operator()<at::native::" + reduction +
                              ">(at::TensorIterator&, long, long, long, at::native::" + reduction +
                              " const&)::{lambda(int)#1}";
  const std::int32_t elements = static_cast<std::int32_t>(moved.indices * moved.width);
  return LaunchBuilder("void at::native::_scatter_gather_elementwise_kernel<128, 8, " + functor +
                       ">(int, " + functor + ")")
      .Grid((static_cast<std::uint32_t>(elements) + kPerBlock - 1) / kPerBlock)
      .Block(128)
      .Add(elements)
      .AddBytes(IndexClosure(moved, 2, 1), 8)
      .Build();
}

// Returns the launch of index_select and gather along whole rows; `scatters` for scatter_ along
// them.
inline KernelLaunch MoveRows(const IndexedRows& moved, bool scatters = false) {
  const std::uint32_t row_bytes = moved.width * moved.bytes;
  constexpr std::uint32_t kPerThread = 16, kThreadsMax = 256, kWarp = 32;
  const std::uint32_t threads = (row_bytes / kPerThread + kWarp - 1) / kWarp * kWarp;
  const std::uint32_t block = threads < kThreadsMax ? threads : kThreadsMax;
  return LaunchBuilder(std::string("void at::native::") +
                       (scatters ? "vectorized_scatter_kernel" : "vectorized_gather_kernel") +
                       "<16, long>(char*, char*, long*, int, long, long, long, long, bool)")
      .Grid(moved.indices, (row_bytes / kPerThread + block - 1) / block)
      .Block(block)
      .Pointer()
      .Pointer()
      .Pointer()
      .Add(static_cast<std::int32_t>(moved.indices))
      .Add<std::int64_t>(row_bytes)
      .Add<std::int64_t>(moved.rows)
      .Add<std::int64_t>(row_bytes)
      .Add<std::int64_t>(row_bytes)
      .Add<std::int8_t>(1)
      .Build();
}

// Sums of `bags` bags of equally many of the indices.
inline KernelLaunch SumBags(const IndexedRows& moved, std::uint32_t bags) {
  LaunchBuilder builder(
      "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<" +
      std::string(moved.type) + ", long>(long const*, long const*, " + moved.type + " const*, " +
      moved.type + "*, long*, long, long, long, long, long, int, long*, " + moved.type +
      " const*, long, long, long)");
  builder.Grid(1024).Block(32, 8);
  for (int i = 0; i < 5; ++i) builder.Pointer();
  for (const std::int64_t size : {moved.indices, bags, moved.width, moved.width}) builder.Add(size);
  builder.Add<std::int64_t>(1).Add<std::int32_t>(0).Pointer().Pointer();
  for (const std::int64_t number : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{moved.rows}}) {
    builder.Add(number);
  }
  KernelLaunch launch = builder.Build();
  launch.blocks_per_multiprocessor = 6;
  return launch;
}

// A slice a row, `block` threads; of one block each.
inline KernelLaunch SelectInBlocks(std::uint32_t rows, std::uint32_t slice, std::uint32_t k,
                                   const std::string& type) {
  constexpr std::uint32_t kThreadsMax = 1024, kWarp = 32;
  const std::uint32_t threads = (slice + kWarp - 1) / kWarp * kWarp;
  return LaunchBuilder("void at::native::sbtopk::gatherTopK<" + type +
                       ", unsigned int, 1, false>(at::cuda::detail::TensorInfo<" + type +
                       " const, unsigned int>, unsigned int, unsigned int, bool, unsigned int, "
                       "unsigned int, at::cuda::detail::TensorInfo<" +
                       type +
                       ", unsigned int>, unsigned int, at::cuda::detail::TensorInfo<long, unsigned "
                       "int>, unsigned int, " +
                       type + "*)")
      .Grid(rows)
      .Block(threads < kThreadsMax ? threads : kThreadsMax)
      .AddBytes(std::string(216, '\0'), 8)
      .Add(slice)
      .Add(k)
      .Add<std::int8_t>(1)
      .Add(rows)
      .Add(slice)
      .AddBytes(std::string(216, '\0'), 8)
      .Add<std::uint32_t>(1)
      .AddBytes(std::string(216, '\0'), 8)
      .Add<std::uint32_t>(1)
      .Pointer()
      .Build();
}

// A batch of pictures with channels first, 16 bits.
struct Pictures {
  std::int32_t members = 0;
  std::int32_t channels = 0;
  std::int32_t places = 0;
};

// GenericPackedTensorAccessor of three dimensions.
inline std::string AccessorOfPictures(const Pictures& pictures) {
  const std::array<std::int32_t, 3> sizes = {pictures.members, pictures.channels, pictures.places};
  const std::array<std::int32_t, 3> strides = {pictures.channels * pictures.places, pictures.places,
                                               1};
  StructBytes bytes(32);
  bytes.Set(0, workload::kPointerTag);
  for (std::size_t d = 0; d < 3; ++d) {
    bytes.Set(8 + 4 * d, sizes[d]);
    bytes.Set(20 + 4 * d, strides[d]);
  }
  return bytes.bytes();
}

// `kernel`: batch_norm_collect_statistics_kernel (1 tensor), batch_norm_transform_input_kernel (2)
// or batch_norm_backward_kernel (3), with the block that PyTorch gives it.
inline KernelLaunch NormBatch(const std::string& kernel, int tensors, const Pictures& pictures,
                              std::uint32_t block_x, std::uint32_t block_y) {
  const std::string accessor =
      "torch::headeronly::detail::GenericPackedTensorAccessor<torch::headeronly::detail::"
      "TensorAccessor<c10::ArrayRef<long>, c10::BFloat16 const, 2ul, torch::headeronly::"
      "DefaultPtrTraits, int>, at::detail::IndexBoundsCheck<3ul, int>, c10::BFloat16 const, 3ul, "
      "torch::headeronly::DefaultPtrTraits, int>";
  std::string name = "void at::native::" + kernel + "<c10::BFloat16, float, float, int>(";
  for (int i = 0; i < tensors; ++i) name += accessor + ", ";
  LaunchBuilder builder(name + "float)");
  const bool by_member = kernel == "batch_norm_transform_input_kernel";
  builder.Grid(static_cast<std::uint32_t>(pictures.channels),
               by_member ? static_cast<std::uint32_t>(pictures.members) : 1);
  builder.Block(block_x, block_y);
  for (int i = 0; i < tensors; ++i) builder.AddBytes(AccessorOfPictures(pictures), 8);
  return builder.Add(1e-5f).Build();
}

}  // namespace eidolon::timing::kernel
