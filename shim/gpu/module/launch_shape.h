// Shape of a requested launch: its grid, blocks and shared memory, and the location of its
// parameters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/workload/work.h"

namespace eidolon::shim::gpu {

struct LaunchShape {
  workload::Dim3 grid{};
  workload::Dim3 block{};
  workload::Dim3 cluster{};  // Zero: as the kernel was compiled.
  std::uint64_t dynamic_shared_bytes = 0;
  bool cooperative = false;
};

// Where the parameters are: one pointer each, or (packed) one block of bytes laid out as the device
// reads it. Both empty for kernels without parameters.
struct LaunchParameters {
  void* const* pointers = nullptr;
  const std::byte* packed = nullptr;
  std::size_t packed_bytes = 0;
};

inline std::uint64_t Volume(const workload::Dim3& dims) {
  return std::uint64_t{dims.x} * dims.y * dims.z;
}

}  // namespace eidolon::shim::gpu
