// Sizes of grouped GEMMs, which the shim adds to the launch because the kernel itself
// finds them in device memory.
#pragma once

#include <optional>

#include "services/contract/workload/grouped_gemm.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// Nothing when the launch has no such slot, or sizes that no GEMM has.
std::optional<workload::GroupedGemm> FindGroupedGemm(const KernelLaunch& launch);

}  // namespace eidolon::timing::kernel
