// The work definition of a kernel launch (workload/work.h): made once for all launches that differ
// in pointers only, and found again by its hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shim/core/session.h"
#include "shim/gpu/launch/parameter_block.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

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

// Notes the sizes that a kernel prepares for a grouped GEMM, or adds them to the block of the
// kernel that multiplies. Requires: pointers are not blanked yet.
void AddGroupedSizes(const Kernel& kernel, const LaunchShape& shape, ParameterBlock& block);

// The work of a launch whose pointers are blanked; checks what CheckShape leaves out.
KernelWorkResult FindOrDefine(core::Session& session, const Kernel& kernel,
                              const LaunchShape& shape, const ParameterBlock& block, int device,
                              const FoundInBlock& found);

}  // namespace eidolon::shim::gpu
