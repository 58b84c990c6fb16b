// Describes how a job's host time is obtained, and how far off it may be.
#pragma once

#include "services/controller/job/job.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::job {

// Requires: the cluster is resolved.
HostTime HostTimeOf(const JobSpec& spec, const ClusterSpec& cluster);

}  // namespace eidolon::controller::job
