// Whether live ranks of a folded job that are taken to be alike have used memory alike. Ghosts are
// mirrored from the first of them: where the last one differs, nothing says which of the two the
// ranks between are like.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/controller/job/prediction.h"
#include "services/folding/fold.h"

namespace eidolon::controller::job {

// A warning for each class whose live ranks' peaks differ by more than 1 % of the larger one. Less
// is what uneven shards make. `memory`: of live ranks, in any order; others are left out. None for
// a job that is not folded.
std::vector<std::string> MemoryWarnings(const folding::Fold& fold,
                                        std::span<const RankMemory> memory);

}  // namespace eidolon::controller::job
