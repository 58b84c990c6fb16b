// Says in a sentence each what limits a measured iteration, and what would help. Pure.
//
// Each rule looks for one fault in the figures of a prediction. A finding costs what the iteration
// would be shorter by if the fault were gone and all else stayed as it is (Amdahl's law), so its
// suggestion is bounded by the report and never guessed. A finding is listed when it costs at least
// a twentieth of the iteration; less is within what predictions err by. When there is none, the
// GPU's own work is what limits it.
#pragma once

#include <string>
#include <vector>

#include "services/controller/job/finding.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::diagnosis {

// Most expensive first. Empty before an iteration is measured. `command`: of the job, by which
// Python is recognised.
std::vector<job::Finding> Diagnose(const job::Prediction& prediction,
                                   const std::vector<std::string>& command);

}  // namespace eidolon::controller::diagnosis
