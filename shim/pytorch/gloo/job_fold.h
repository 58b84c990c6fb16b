// The fold of this process's job, as the agent tells live ranks of it.
#pragma once

#include <string_view>

#include "services/base/error.h"
#include "services/contract/folding/fold.h"

namespace eidolon::shim::gloo {

// `fold`: "16 4:2 8:2", the job's ranks and its dimensions (stride:size); `live`: "0,3,12", the
// live ranks. As in EIDOLON_FOLD and EIDOLON_LIVE_RANKS.
base::Result<folding::Fold> ReadFold(std::string_view fold, std::string_view live);

// Returns the fold of this process. Not folded: the job is not, or this is not a process of a job.
const folding::Fold& JobFold();

}  // namespace eidolon::shim::gloo
