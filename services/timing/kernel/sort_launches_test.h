// Launches of PyTorch's kernels that sort, count in bins or take losses, as the shim records them,
// for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "services/timing/kernel/launch_test.h"

namespace eidolon::timing::kernel {

// A pass over segments of keys and values of 64 bits.
inline KernelLaunch SortSegments(const std::string& key, std::uint32_t segments,
                                 std::int32_t length) {
  const std::string offsets = "at::native::offset_t, at::native::offset_t, int";
  const std::string decomposer = ", at_cuda_detail::cub::identity_decomposer_t";
  LaunchBuilder builder(
      "void at_cuda_detail::cub::detail::radix_sort::DeviceSegmentedRadixSortKernel<policy, true, "
      "(at_cuda_detail::cub::SortOrder)0, " +
      key + ", long, " + offsets + decomposer + ">(" + key + " const*, " + key +
      "*, long const*, long*, " + offsets + ", int, int" + decomposer + ")");
  builder.Grid(segments).Block(384);
  for (int i = 0; i < 4; ++i) builder.Pointer();
  for (const std::int32_t first : {0, 1}) {
    builder.AddBytes(StructBytes(8).Set(0, length).Set(4, first).bytes(), 4);
  }
  return builder.Add(0).Add(0).Add(6).Build();
}

// Counts in shared memory, or in L2 where `far`.
inline KernelLaunch CountInBins(const std::string& type, std::int64_t items, std::int64_t bins,
                                bool far = false) {
  const std::string name = "void at::cuda::kernelHistogram1D<" + type + ", " + type +
                           ", long, 1, 2, -1, (at::cuda::CUDAHistogramMemoryType)" +
                           (far ? "1" : "0") + ", functor>(tensor, tensor, tensor, long)";
  LaunchBuilder builder(name);
  builder.Grid(128).Block(512);
  constexpr std::size_t kTensorInfo = 416;  // at::cuda::detail::TensorInfo<T, long>.
  for (int i = 0; i < 3; ++i) builder.AddBytes(StructBytes(kTensorInfo).bytes(), 8);
  builder.Add(bins);
  if (type == "long") {
    builder.Add<std::int64_t>(0).Add(bins);
  } else {
    builder.Add(0.0F).Add(1.0F);
  }
  return builder.Add(items).AddBytes("\0", 1).Build();
}

// The mean loss of so many rows, and its gradient.
inline KernelLaunch LossOfRows(std::int64_t rows, std::int64_t words, std::uint32_t threads) {
  return LaunchBuilder(
             "void at::native::(anonymous "
             "namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, "
             "float, long>(float*, float*, float const*, long const*, float const*, bool, long, "
             "long, long, long)")
      .Grid(1)
      .Block(threads)
      .Pointers(1)
      .Pointers(1)
      .Pointers(1)
      .Pointers(1)
      .Add<std::uint64_t>(0)
      .Add(true)
      .Add(rows)
      .Add(words)
      .Add(words)
      .Add<std::int64_t>(-100)
      .Build();
}
inline KernelLaunch GradientOfLoss(std::int32_t rows, std::int32_t words, std::uint32_t threads) {
  return LaunchBuilder(
             "void at::native::(anonymous "
             "namespace)::nll_loss_backward_reduce_cuda_kernel_2d<float,"
             " long>(float*, float const*, long const*, float const*, float const*, bool, int, "
             "int, "
             "long, long)")
      .Grid(1)
      .Block(threads)
      .Pointers(1)
      .Pointers(1)
      .Pointers(1)
      .Add<std::uint64_t>(0)
      .Pointers(1)
      .Add(true)
      .Add(rows)
      .Add(words)
      .Add<std::int64_t>(words)
      .Add<std::int64_t>(-100)
      .Build();
}

}  // namespace eidolon::timing::kernel
