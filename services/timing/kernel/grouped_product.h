// Products of groups of rows, whose sizes the shim adds to the launch because the kernel itself
// finds them in device memory (GroupedProduct of services/ring/work.h, whose layout is repeated
// here).
#pragma once

#include <cstdint>
#include <optional>

#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// First 8 bytes of the last slot of such a launch.
inline constexpr std::uint64_t kGroupedProductTag = 0x67726f7570656421u;

// Group i is m_i x n_i x k_i, row-major. Of the ragged dimension these are the sums over all
// groups.
struct GroupedProduct {
  enum class Ragged : std::uint32_t { kNone, kM, kN, kK };
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint32_t groups = 1;
  Ragged ragged = Ragged::kNone;
};

// Nothing when the launch has no such slot, or sizes that no product has.
std::optional<GroupedProduct> FindGroupedProduct(const KernelLaunch& launch);

}  // namespace eidolon::timing::kernel
