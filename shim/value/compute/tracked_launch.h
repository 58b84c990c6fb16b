// Launches that read unknown bytes, run a second time so that what does not depend on these is
// known afterwards (interpret/unknown_steps.h). A kernel that copies an unknown token and counts
// the tokens leaves the count known.
//
// Most launches of a training program read nothing that is known, or leave nothing known: they are
// not run for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/run.h"
#include "shim/value/compute/experience.h"
#include "shim/value/compute/launch_pointers.h"
#include "shim/value/store.h"

namespace eidolon::shim::compute {

// Decides by the launch's size, by what earlier runs left, and by whether anything is known behind
// its pointers.
bool IsWorthTracking(const KernelExperience& kernel, const ShapeExperience& shape,
                     std::uint64_t threads, const LaunchPointers& pointers,
                     const value::Store& store);

// Remembers whether such a run left anything known.
void NoteTracked(bool yields, KernelExperience& kernel, ShapeExperience& shape);

struct TrackedKernel {
  std::string_view name;
  bool joins_tensors = false;
};

// Runs the launch. Nothing where it cannot come to its end, or leaves nothing known: it then has no
// effect. Else the store holds what it wrote, and these ranges of it are unknown, by `name`.
// Whoever calls holds the lock of value::Pending.
std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> RunInPart(
    const interpret::Program& program, interpret::Launch launch, const TrackedKernel& kernel,
    const Arena& arena, value::Store& store);

}  // namespace eidolon::shim::compute
