// GEMMs of several groups of rows in one kernel, which finds their sizes in device
// memory: where the program's own launches tell them, the shim adds them to the launch behind the
// parameters, as one more slot, the last. Bytes of a definition: the layout is part of profiles.
#pragma once

#include <cstdint>
#include <type_traits>

namespace eidolon::workload {

inline constexpr std::uint64_t kGroupedGemmTag = 0x67726f7570656421u;

// Group i is m_i x n_i x k_i, row-major; of the ragged dimension, if any, the number here is the
// sum over the groups.
struct GroupedGemm {
  enum class Ragged : std::uint32_t { kNone, kM, kN, kK };

  std::uint64_t tag = kGroupedGemmTag;
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  std::uint32_t groups = 1;
  Ragged ragged = Ragged::kNone;
};
static_assert(sizeof(GroupedGemm) == 40);
static_assert(std::is_trivially_copyable_v<GroupedGemm>);
static_assert(std::has_unique_object_representations_v<GroupedGemm>);

}  // namespace eidolon::workload
