// GEMMs of groups of rows, as in mixtures of experts. PyTorch's kernel for them reads its sizes
// from device memory, where a small kernel writes them right before; how long the GEMM takes can
// be told only by what that one was given. So its parameters are noted by the address that it
// writes to, and found again by the same address among the GEMM's. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "services/contract/workload/grouped_gemm.h"
#include "services/contract/workload/work.h"
#include "shim/gpu/module/module.h"

namespace eidolon::shim::gpu {

enum class GroupedRole : std::uint8_t {
  kUnasked,
  kNone,
  kPrepares,    // at::cuda::detail::prepare_grouped_gemm_data.
  kMultiplies,  // CUTLASS with a GroupProblemShape.
};

// Determines the role by the kernel's name; the answer is kept with the kernel.
GroupedRole GroupedRoleOf(const Kernel& kernel) noexcept;

// Arguments of the preparing kernel; nothing when its parameters are not those of PyTorch 2.8 to
// 2.15. `block` is as the device reads it, before pointers are blanked; `groups` are its threads.
struct PreparedGemm {
  std::uint64_t sizes_address = 0;
  workload::GroupedGemm gemm{};
};
std::optional<PreparedGemm> ReadPreparedGemm(std::span<const cubin::Parameter> parameters,
                                             std::span<const std::byte> block,
                                             std::uint32_t groups);

// Keeps it until another is prepared at the same address. Bounded.
void KeepPreparedGemm(const PreparedGemm& prepared);

// The GEMM whose sizes lie where a word of the block points; nothing when none was prepared.
std::optional<workload::GroupedGemm> FindPreparedGemm(std::span<const std::byte> block);

}  // namespace eidolon::shim::gpu
