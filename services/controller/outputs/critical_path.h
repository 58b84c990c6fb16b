// Finds a job's critical path in what its agents wrote.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/contract/critical_path/summary.h"

namespace eidolon::controller::outputs {

// `files`: one of each server that has an agent. Fails when one is missing or unsound, none has a
// trace, or together they have more than `bytes_max`: all of them are in memory at once.
base::Result<critical_path::Summary> FindCriticalPath(const std::vector<std::string>& files,
                                                      std::uintmax_t bytes_max);

}  // namespace eidolon::controller::outputs
