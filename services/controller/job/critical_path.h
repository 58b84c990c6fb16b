// The critical path of a prediction as its document has it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "services/contract/critical_path/summary.h"

namespace eidolon::controller::job {

// `status.prediction.criticalPath`.
nlohmann::json ToJson(const critical_path::Summary& summary);

}  // namespace eidolon::controller::job
