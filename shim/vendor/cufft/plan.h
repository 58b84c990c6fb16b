// cuFFT's plans: what a transform's sizes, types, stream and work area are. A plan is a small
// number in the program's hands. Thread safe, as plans of different threads are independent in the
// real library.
#pragma once

#include <cufftXt.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/value/compute/fourier.h"

namespace eidolon::shim::cufft {

// Where one side's points lie in memory: sizes of the array they are part of, by dimension,
// elements from one point to the next, and from one transform to the next.
struct Layout {
  std::vector<long long> embed;
  long long stride = 1;
  long long distance = 0;
};

// The sizes of a batch of transforms, and the element types on both sides.
struct Transform {
  std::vector<long long> lengths;
  long long batch = 1;
  cudaDataType input = CUDA_C_32F;
  cudaDataType output = CUDA_C_32F;
  // Both or none; without them points lie side by side.
  std::optional<Layout> input_layout;
  std::optional<Layout> output_layout;
  // Real transforms keep half of the last dimension on the complex side.
  std::uint64_t InputElements() const;
  std::uint64_t OutputElements() const;
  // 5 n log2 n for a complex transform of n points, the usual count; half of it when one side is
  // real.
  std::uint64_t Flops() const;
  // Bytes that each pass over memory moves: long transforms need several.
  std::uint64_t MemoryBytes() const;
  // A copy of the complex data, which is what out-of-place passes need.
  std::size_t WorkBytes() const;
};

struct Plan {
  Transform transform;
  bool made = false;
  bool auto_allocate = true;
  std::uint64_t work_area = 0;  // Ours when auto_allocate and made.
  cudaStream_t stream = nullptr;
};

// The plans of the process by handle. Thread safe. Functions that take a handle return
// CUFFT_INVALID_PLAN when there is no such plan.
class Plans {
 public:
  static Plans& Get();
  cufftResult Create(cufftHandle* handle);
  cufftResult Destroy(cufftHandle handle);
  // A copy, so that work is submitted without the lock.
  cufftResult Find(cufftHandle handle, Plan* plan);
  cufftResult Make(cufftHandle handle, Transform transform, std::size_t* work_bytes);
  cufftResult SetStream(cufftHandle handle, cudaStream_t stream);
  cufftResult SetAutoAllocation(cufftHandle handle, bool on);
  cufftResult SetWorkArea(cufftHandle handle, void* area);

 private:
  struct Impl;
  Plans();
  Impl& impl_;
};

// Puts both sides into larger arrays. CUFFT_INVALID_SIZE and CUFFT_INVALID_VALUE for what is none.
cufftResult Embed(Layout input, Layout output, Transform* transform);

// As work on values; a real transform in place has its real side padded to the complex one's rows.
compute::Fourier FourierOf(const Transform& transform, bool inverse, const void* in,
                           const void* out);

// Fills `transform` from cuFFT's arguments. CUFFT_INVALID_SIZE and CUFFT_INVALID_TYPE as the real
// library.
cufftResult Describe(std::span<const long long> lengths, long long batch, cudaDataType input,
                     cudaDataType output, Transform* transform);
cufftResult Describe(std::span<const long long> lengths, long long batch, cufftType type,
                     Transform* transform);

}  // namespace eidolon::shim::cufft
