// Writes what the ranks of this server asked of their GPUs, once the job is over
// (docs/recording.md).
#pragma once

#include "services/agent/server/job_parts.h"
#include "services/agent/server/processes.h"
#include "services/base/error.h"

namespace eidolon::agent::server {

// Writes into <run directory>/recording. Requires: the sessions have finished.
base::Result<void> WriteRecording(const JobParts& job, const Processes& processes);

}  // namespace eidolon::agent::server
