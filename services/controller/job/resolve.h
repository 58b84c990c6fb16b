// From a job and its cluster to what is actually run: sizes decided, GPU name checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/controller/job/job.h"

namespace eidolon::controller::job {

struct ResolvedJob {
  JobSpec spec;
  ClusterSpec cluster;
  std::uint32_t servers = 1;
  std::uint32_t ranks_per_server = 1;
  std::uint32_t ranks() const { return servers * ranks_per_server; }
};

// Names of the GPU models the timing service knows; empty when it cannot be asked.
using KnownGpus = std::function<std::vector<std::string>()>;

// Adds to `problems` where the GPU of a cluster is unknown; `pointer` is the cluster spec's.
void CheckGpu(const ClusterSpec& cluster, const std::string& pointer, const KnownGpus& known_gpus,
              Problems* problems);

// Checks the job against its cluster (the inline one, or `referenced`) and settles the sizes. The
// answer is meaningful when nothing was added to `problems`.
// Requires: spec.cluster or referenced.
ResolvedJob Resolve(const JobSpec& spec, const ClusterSpec* referenced, const KnownGpus& known_gpus,
                    Problems* problems);

}  // namespace eidolon::controller::job
