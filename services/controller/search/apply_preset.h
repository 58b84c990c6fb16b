// Lists the additions of a preset to one search: words of the command, values of names, and
// constraints.
#pragma once

#include <string>
#include <vector>

#include "services/controller/search/preset.h"
#include "services/controller/search/spec.h"

namespace eidolon::controller::search {

// Adds to `spec`
// - to the job, what sets each parameter of the space that the job does not name itself;
// - to its facts, the other parameters' values: of the job's command line, or the framework's own;
// - to its constraints, before the others, each rule whose names have a value.
// Requires: spec has its space, its job and the facts of the document, and no constraints yet.
void ApplyPreset(const Preset& preset, SearchSpec* spec);

}  // namespace eidolon::controller::search
