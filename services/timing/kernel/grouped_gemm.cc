#include "services/timing/kernel/grouped_gemm.h"

#include "services/timing/kernel/parameters.h"

namespace eidolon::timing::kernel {

std::optional<workload::GroupedGemm> FindGroupedGemm(const KernelLaunch& launch) {
  using workload::GroupedGemm;
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 40;
  if (launch.slots.empty() || launch.slots.back().bytes != sizeof(GroupedGemm)) {
    return std::nullopt;
  }
  const Parameters parameters(launch);
  const auto gemm = parameters.At<GroupedGemm>(launch.slots.back().offset);
  if (!gemm || gemm->tag != workload::kGroupedGemmTag) return std::nullopt;
  if (gemm->ragged > GroupedGemm::Ragged::kK) return std::nullopt;
  for (const std::uint64_t value : {gemm->m, gemm->n, gemm->k}) {
    if (value == 0 || value > kSizeMax) return std::nullopt;
  }
  if (gemm->groups == 0) return std::nullopt;
  return gemm;
}

}  // namespace eidolon::timing::kernel
