#include "services/timing/kernel/grouped_product.h"

#include "services/timing/kernel/parameters.h"

namespace eidolon::timing::kernel {

std::optional<GroupedProduct> FindGroupedProduct(const KernelLaunch& launch) {
  constexpr std::uint32_t kBytes = 40;
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;
  if (launch.slots.empty() || launch.slots.back().bytes != kBytes) return std::nullopt;
  const Parameters parameters(launch);
  const std::size_t at = launch.slots.back().offset;
  if (parameters.At<std::uint64_t>(at) != kGroupedProductTag) return std::nullopt;
  const auto size = [&](std::size_t offset) {
    return parameters.At<std::uint64_t>(at + offset).value_or(0);
  };
  const auto word = [&](std::size_t offset) {
    return parameters.At<std::uint32_t>(at + offset).value_or(0);
  };
  if (word(36) > static_cast<std::uint32_t>(GroupedProduct::Ragged::kK)) return std::nullopt;
  const GroupedProduct product = {size(8), size(16), size(24), word(32),
                                  static_cast<GroupedProduct::Ragged>(word(36))};
  for (const std::uint64_t value : {product.m, product.n, product.k}) {
    if (value == 0 || value > kSizeMax) return std::nullopt;
  }
  if (product.groups == 0) return std::nullopt;
  return product;
}

}  // namespace eidolon::timing::kernel
