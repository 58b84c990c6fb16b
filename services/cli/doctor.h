// `eidolon doctor`: what a machine needs to run jobs, found out without changing anything.
#pragma once

#include <string>
#include <vector>

#include "services/cli/target.h"

namespace eidolon::cli {

enum class Health { kGood, kWarning, kBad };

struct Finding {
  Health health = Health::kGood;
  std::string subject;  // "shim", "python", ...
  std::string text;     // What was found; for warnings and worse, what to do.
};

struct DoctorOptions {
  std::string binary_directory;  // Where eidolon-agent is; the shim is in ../lib.
  std::string data_directory;
  Target target;  // The server that commands would use.
};

std::vector<Finding> Examine(const DoctorOptions& options);
bool HasBadFinding(const std::vector<Finding>& findings);
// A line per finding.
std::string FormatFindings(const std::vector<Finding>& findings);

// The verdict on what `python` told: "<torch version>|<CUDA version>" or nothing. For tests.
Finding JudgeTorch(const std::string& answer);

}  // namespace eidolon::cli
