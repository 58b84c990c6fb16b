// Launching kernels: the hottest path of the shim. Parameters are gathered by the kernel's layout,
// device pointers blanked, the result interned, and one record written (or a graph node made).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/ring/work.h"
#include "shim/gpu/module.h"
#include "shim/gpu/status.h"
#include "shim/gpu/submit.h"

namespace eidolon::shim::gpu {

struct LaunchShape {
  ring::Dim3 grid{};
  ring::Dim3 block{};
  ring::Dim3 cluster{};  // Zero: as the kernel was compiled.
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

// Launches on a stream, as cuLaunchKernel would: kInvalidValue for impossible shapes,
// kLaunchOutOfResources when a block needs more than a multiprocessor has.
Status LaunchKernel(const Kernel& kernel, const LaunchShape& shape,
                    const LaunchParameters& parameters, StreamHandle stream) noexcept;

// The work of such a launch without launching it, for kernel nodes of graphs: checks the same, and
// collects the device pointers among the parameters.
struct KernelWorkResult {
  Status status = Status::kSuccess;
  std::uint32_t work = 0;
  const std::byte* parameters = nullptr;  // Of its definition, for good: pointers are blanked.
};
KernelWorkResult InternKernel(const Kernel& kernel, const LaunchShape& shape,
                              const LaunchParameters& parameters, int device,
                              std::vector<std::uint64_t>* pointers) noexcept;

// True when grid and block are within what any kernel may have on the device: tells the runtime's
// "invalid configuration" from other refusals.
bool IsPossibleShape(const LaunchShape& shape) noexcept;

}  // namespace eidolon::shim::gpu
