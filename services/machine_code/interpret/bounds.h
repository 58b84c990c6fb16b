// Computes bounds of the integers that a kernel computes from its place in the grid and from
// immediates: enough to tell which part of a table among the parameters it looks at.
#pragma once

#include <optional>
#include <span>

#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/origin.h"
#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

// The shape of a launch; nothing where it is not known.
struct LaunchShape {
  std::optional<Dims> grid;
  std::optional<Dims> block;
};

// Returns bounds of the first word that a step computes from sources within these; none for all
// that is not known.
Bounds BoundsOf(const Step& step, const DataUse& use, std::span<const Bounds> sources,
                const LaunchShape& shape);

}  // namespace eidolon::interpret
