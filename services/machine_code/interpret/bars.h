// Determines whether a store that values decide, and that never happened, was kept from happening
// by values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/machine_code/interpret/flow.h"

namespace eidolon::interpret {

// True when traces of each block show that it was not: every thread that may ever come to the last
// branches before the step, which values do not decide, came to them in one. `by_values`: of the
// flow's blocks, those that end with a branch that values decide.
bool IsBarred(const Flow& flow, const std::vector<bool>& by_values,
              std::span<const BlockTrace> traces, std::uint32_t step);

}  // namespace eidolon::interpret
