// Accesses to memory in a launch that tracks unknown values (unknown_steps.h).
#pragma once

#include "services/machine_code/interpret/lineup.h"
#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

// False, and nothing has happened, for a step that is none.
bool RunTrackedMemory(Warp& warp, const Step& step, const Lineup& lanes);

}  // namespace eidolon::interpret
