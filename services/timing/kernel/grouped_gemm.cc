#include "services/timing/kernel/grouped_gemm.h"

#include "services/timing/kernel/parameters.h"

namespace eidolon::timing::kernel {

std::optional<workload::GroupedProduct> FindGroupedProduct(const KernelLaunch& launch) {
  using workload::GroupedProduct;
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;
  if (launch.slots.empty() || launch.slots.back().bytes != sizeof(GroupedProduct)) {
    return std::nullopt;
  }
  const Parameters parameters(launch);
  const auto product = parameters.At<GroupedProduct>(launch.slots.back().offset);
  if (!product || product->tag != workload::kGroupedProductTag) return std::nullopt;
  if (product->ragged > GroupedProduct::Ragged::kK) return std::nullopt;
  for (const std::uint64_t value : {product->m, product->n, product->k}) {
    if (value == 0 || value > kSizeMax) return std::nullopt;
  }
  if (product->groups == 0) return std::nullopt;
  return product;
}

}  // namespace eidolon::timing::kernel
