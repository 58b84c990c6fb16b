// Finds registers that hold one thing or another where ways meet, by the way that was taken: those
// whose last writers differ.
#pragma once

#include <span>
#include <vector>

#include "services/machine_code/interpret/flow.h"
#include "services/machine_code/interpret/origin_state.h"

namespace eidolon::interpret {

// Returns the places by block. `written`: what each block writes, the function that it calls
// included.
std::vector<Places> FindMerges(const Flow& flow, std::span<const Places> written);

}  // namespace eidolon::interpret
