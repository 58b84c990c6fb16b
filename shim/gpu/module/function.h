// Answers a program's queries about a kernel: attributes and occupancy. Attribute numbers are those
// that CUDA's driver (CUfunction_attribute) and runtime (cudaFuncAttribute) share.
#pragma once

#include <cstdint>

#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

enum class FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedBytes = 1,
  kConstantBytes = 2,
  kLocalBytes = 3,
  kRegisters = 4,
  kPtxVersion = 5,
  kBinaryVersion = 6,
  kCacheModeCa = 7,
  kMaxDynamicSharedBytes = 8,
  kSharedCarveout = 9,
  kClusterMustBeSet = 10,
  kRequiredClusterWidth = 11,
  kRequiredClusterHeight = 12,
  kRequiredClusterDepth = 13,
  kNonPortableClusterAllowed = 14,
  kClusterSchedulingPolicy = 15,
};

Status GetAttribute(const Kernel& kernel, FunctionAttribute attribute, int* value) noexcept;
Status SetAttribute(Kernel& kernel, FunctionAttribute attribute, int value, int device) noexcept;

// Returns where a parameter lies in the block; kInvalidValue past the last one. Null outputs are
// left out.
Status GetParameter(const Kernel& kernel, std::size_t index, std::size_t* offset,
                    std::size_t* bytes) noexcept;

// Blocks of `threads` threads that a multiprocessor of the device holds; 0 when such a block cannot
// be launched. kInvalidValue when the block size is impossible.
Status MaxActiveBlocks(const Kernel& kernel, int device, int threads, std::uint64_t dynamic_bytes,
                       int* blocks) noexcept;
// The dynamic shared memory that still lets `blocks` blocks fit.
Status AvailableDynamicShared(const Kernel& kernel, int device, int blocks, int threads,
                              std::size_t* bytes) noexcept;
// The block size with the most resident threads, the largest of equals, and the grid that fills the
// device with it. `dynamic_bytes_for` may be null: then `dynamic_bytes` for every size.
struct PotentialQuery {
  std::size_t (*dynamic_bytes_for)(int threads) = nullptr;
  std::uint64_t dynamic_bytes = 0;
  int threads_limit = 0;  // 0: none.
};
struct PotentialShape {
  int grid_min = 0;
  int threads = 0;
};
Status MaxPotentialBlock(const Kernel& kernel, int device, const PotentialQuery& query,
                         PotentialShape* shape) noexcept;

// Clusters of the shape that the device holds at a time, and the largest cluster that fits at all.
Status MaxActiveClusters(const Kernel& kernel, int device, const LaunchShape& shape,
                         int* clusters) noexcept;
Status MaxPotentialCluster(const Kernel& kernel, int device, const LaunchShape& shape,
                           int* blocks) noexcept;

}  // namespace eidolon::shim::gpu
