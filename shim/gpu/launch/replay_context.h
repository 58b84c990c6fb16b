// Collects what a kernel needs to run again on a real GPU: its parameters with their pointers, the
// allocations that these point into, and the code of its module. Only made when the job's timing
// service measures (ring::kReplayKernels), and only for definitions that are new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shim/core/session.h"
#include "shim/gpu/module/module.h"
#include "shim/value/compute/launch.h"

namespace eidolon::shim::gpu {

bool WantsReplays(const core::Session& session) noexcept;
// Returns whether the timing service may ask for the code of the kernel of this mangled name, to
// count what it executes.
bool WantsCode(const core::Session& session, std::string_view kernel) noexcept;

// The bytes of a ring::ReplayContext with its tail. `blanked`: the parameter block, of whole words.
// Requires: pointers and numbers lie in it.
std::vector<std::byte> MakeReplayContext(std::span<const std::byte> blanked,
                                         std::uint32_t parameter_bytes,
                                         std::span<const compute::PointerWord> pointers,
                                         std::span<const compute::NumberWord> numbers);

// Puts the library's code into the run directory, once for each content.
void SaveModule(const Library& library);

}  // namespace eidolon::shim::gpu
