// The sizes of a grouped GEMM lie in device memory, which nobody computes, so its duration cannot
// follow from its own parameters. The kernel that prepares them has the shapes of the operands as
// parameters. From its numbers m, n and k one is negative, the ragged one, and its total over all
// groups stands in a shape. Both kernels share an address, which is the link. A kernel counts as
// the preparing one only if number and sizes of its parameters are the known ones; otherwise
// nothing is noted and the GEMM has no sizes. The table is bounded by being cleared when it is
// full.
#include "shim/gpu/torch/grouped_gemm.h"

#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "services/contract/torch_layout/grouped_gemm.h"
#include "services/contract/workload/grouped_gemm.h"
#include "shim/core/spin_lock.h"
#include "shim/gpu/memory/arena.h"

namespace eidolon::shim::gpu {
namespace {

using Ragged = workload::GroupedGemm::Ragged;

using torch_layout::PrepareGroupedGemm;

constexpr std::size_t kKeptMax = 4096;

struct Kept {
  core::SpinLock lock;
  std::unordered_map<std::uint64_t, workload::GroupedGemm> gemms;
};

Kept& KeptGemms() {
  static Kept* const kept = new Kept;  // Never destroyed: launches may outlive main.
  return *kept;
}

template <typename T>
T Read(std::span<const std::byte> block, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= block.size()) std::memcpy(&value, block.data() + offset, sizeof(T));
  return value;
}

bool HasKnownLayout(std::span<const cubin::Parameter> parameters) {
  if (parameters.size() != PrepareGroupedGemm::kParameters) return false;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].bytes != PrepareGroupedGemm::BytesOf(i)) return false;
  }
  return true;
}

}  // namespace

GroupedRole GroupedRoleOf(const Kernel& kernel) noexcept {
  const auto known = static_cast<GroupedRole>(kernel.grouped_role.load(std::memory_order_relaxed));
  if (known != GroupedRole::kUnasked) return known;
  GroupedRole role = GroupedRole::kNone;
  if (kernel.name.find("prepare_grouped_gemm_data") != std::string::npos) {
    role = GroupedRole::kPrepares;
  } else if (kernel.name.find("GroupProblemShape") != std::string::npos) {
    role = GroupedRole::kMultiplies;
  }
  kernel.grouped_role.store(static_cast<std::uint8_t>(role), std::memory_order_relaxed);
  return role;
}

std::optional<PreparedGemm> ReadPreparedGemm(std::span<const cubin::Parameter> parameters,
                                             std::span<const std::byte> block,
                                             std::uint32_t groups) {
  if (!HasKnownLayout(parameters) || groups == 0) return std::nullopt;
  // The dimension that differs from group to group is -1; its sum is in the operands' shapes.
  const auto number = [&](std::size_t i) {
    return Read<std::int32_t>(block, parameters[i].offset);
  };
  const auto shape = [&](std::size_t i) {
    return Read<std::array<std::int64_t, 3>>(block, parameters[i].offset);
  };
  std::array<std::int64_t, 3> sizes = {number(PrepareGroupedGemm::kM),
                                       number(PrepareGroupedGemm::kN),
                                       number(PrepareGroupedGemm::kK)};
  auto ragged = Ragged::kNone;
  if (sizes[0] < 0) {
    ragged = Ragged::kM;
    sizes[0] = shape(PrepareGroupedGemm::kShapeA)[0];
  } else if (sizes[1] < 0) {
    ragged = Ragged::kN;
    sizes[1] = shape(PrepareGroupedGemm::kShapeB)[1];
  } else if (sizes[2] < 0) {
    ragged = Ragged::kK;
    sizes[2] = shape(PrepareGroupedGemm::kShapeA)[1];
  }
  for (const std::int64_t size : sizes) {
    if (size <= 0) return std::nullopt;
  }
  PreparedGemm prepared{Read<std::uint64_t>(block, parameters[PrepareGroupedGemm::kSizes].offset),
                        {}};
  prepared.gemm = {.tag = workload::kGroupedGemmTag,
                   .m = static_cast<std::uint64_t>(sizes[0]),
                   .n = static_cast<std::uint64_t>(sizes[1]),
                   .k = static_cast<std::uint64_t>(sizes[2]),
                   .groups = groups,
                   .ragged = ragged};
  return prepared;
}

void KeepPreparedGemm(const PreparedGemm& prepared) {
  Kept& kept = KeptGemms();
  const std::lock_guard lock(kept.lock);
  if (kept.gemms.size() >= kKeptMax) kept.gemms.clear();
  kept.gemms[prepared.sizes_address] = prepared.gemm;
}

std::optional<workload::GroupedGemm> FindPreparedGemm(std::span<const std::byte> block) {
  Kept& kept = KeptGemms();
  const std::lock_guard lock(kept.lock);
  for (std::size_t at = 0; at + 8 <= block.size(); at += 8) {
    const auto word = Read<std::uint64_t>(block, at);
    if (!HoldsDeviceAddress(word)) continue;
    const auto found = kept.gemms.find(word);
    if (found != kept.gemms.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace eidolon::shim::gpu
