#include "shim/gpu/torch/grouped_product.h"

#include <array>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "shim/core/spin_lock.h"
#include "shim/gpu/memory/arena.h"

namespace eidolon::shim::gpu {
namespace {

using Ragged = ring::GroupedProduct::Ragged;

// Parameters of prepare_grouped_gemm_data, ATen/native/cuda/GroupMMCommon.cuh.
constexpr std::size_t kParameters = 27;
constexpr std::size_t kSizes = 10;
constexpr std::size_t kM = 15;
constexpr std::size_t kN = 16;
constexpr std::size_t kK = 17;
constexpr std::size_t kShapeA = 21;
constexpr std::size_t kShapeB = 22;

constexpr std::size_t kKeptMax = 4096;

struct Kept {
  core::SpinLock lock;
  std::unordered_map<std::uint64_t, ring::GroupedProduct> products;
};

Kept& KeptProducts() {
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
  if (parameters.size() != kParameters) return false;
  for (std::size_t i = 0; i < kParameters; ++i) {
    const bool number = i >= kM && i <= kK;
    const bool shape = i > kK && i <= kShapeB;
    const bool flag = i >= kParameters - 2;
    if (parameters[i].bytes != (number ? 4u : shape ? 24u : flag ? 1u : 8u)) return false;
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

std::optional<PreparedProduct> ReadPreparedProduct(std::span<const cubin::Parameter> parameters,
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
  std::array<std::int64_t, 3> sizes = {number(kM), number(kN), number(kK)};
  auto ragged = Ragged::kNone;
  if (sizes[0] < 0) {
    ragged = Ragged::kM;
    sizes[0] = shape(kShapeA)[0];
  } else if (sizes[1] < 0) {
    ragged = Ragged::kN;
    sizes[1] = shape(kShapeB)[1];
  } else if (sizes[2] < 0) {
    ragged = Ragged::kK;
    sizes[2] = shape(kShapeA)[1];
  }
  for (const std::int64_t size : sizes) {
    if (size <= 0) return std::nullopt;
  }
  PreparedProduct prepared{Read<std::uint64_t>(block, parameters[kSizes].offset), {}};
  prepared.product = {.tag = ring::kGroupedProductTag,
                      .m = static_cast<std::uint64_t>(sizes[0]),
                      .n = static_cast<std::uint64_t>(sizes[1]),
                      .k = static_cast<std::uint64_t>(sizes[2]),
                      .groups = groups,
                      .ragged = ragged};
  return prepared;
}

void KeepPreparedProduct(const PreparedProduct& prepared) {
  Kept& kept = KeptProducts();
  const std::lock_guard lock(kept.lock);
  if (kept.products.size() >= kKeptMax) kept.products.clear();
  kept.products[prepared.sizes_address] = prepared.product;
}

std::optional<ring::GroupedProduct> FindPreparedProduct(std::span<const std::byte> block) {
  Kept& kept = KeptProducts();
  const std::lock_guard lock(kept.lock);
  for (std::size_t at = 0; at + 8 <= block.size(); at += 8) {
    const auto word = Read<std::uint64_t>(block, at);
    if (!HoldsDeviceAddress(word)) continue;
    const auto found = kept.products.find(word);
    if (found != kept.products.end()) return found->second;
  }
  return std::nullopt;
}

}  // namespace eidolon::shim::gpu
