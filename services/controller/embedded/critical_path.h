// Finds a job's critical path in what its agents wrote.
#pragma once

#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/critical_path/summary.h"

namespace eidolon::controller::embedded {

// `files`: one of each server that has an agent. Fails when one is missing or unsound, none has a
// trace, or together they are larger than is read here.
base::Result<critical_path::Summary> FindCriticalPath(const std::vector<std::string>& files);

}  // namespace eidolon::controller::embedded
