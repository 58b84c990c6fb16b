// Runs steps of a launch that tracks unknown values: executes them as every launch does, and marks
// which of their results are unknown.
//
// A result is unknown when it depends on an unknown byte by data, by the guard of a step that is
// not a branch, or by the address of a load. A branch or a store's address that does ends the
// launch.
#pragma once

#include <cstdint>

#include "services/machine_code/interpret/lineup.h"
#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

// Nothing is unknown when a block begins, but what its memory says.
void StartUnknowns(Block& block);

// Returns the lanes in which the step's guard is unknown.
inline std::uint32_t UnknownGuard(const Warp& warp, const Step& step) {
  return step.uniform ? warp.unknowns->uniform_predicate[step.guard]
                      : warp.unknowns->predicate[step.guard];
}

// Runs a step that is not of control. Requires: some lane.
void RunTracked(Warp& warp, const Step& step, const Lineup& lanes);

// Returns false, and ends the launch, when something unknown decides a step of control. What the
// step writes is known afterwards. The caller asks before it runs the step.
bool AdmitControl(Warp& warp, const Step& step, const Lineup& lanes);

}  // namespace eidolon::interpret
