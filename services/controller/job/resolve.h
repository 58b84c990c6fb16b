// From a job and its cluster to what is actually run: sizes decided, GPU name checked.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "services/contract/folding/fold.h"
#include "services/controller/job/job.h"

namespace eidolon::controller::job {

struct ResolvedJob {
  JobSpec spec;
  ClusterSpec cluster;
  std::uint32_t servers = 1;
  std::uint32_t ranks_per_server = 1;
  folding::Fold fold;  // Which ranks run.
  std::uint32_t ranks() const { return servers * ranks_per_server; }
  std::uint32_t live_ranks() const {
    return fold.is_folded() ? static_cast<std::uint32_t>(fold.live().size()) : ranks();
  }
  // Servers that have an agent: those with a rank that runs. Ascending.
  std::vector<std::uint32_t> AgentServers() const;
};

// Names of the GPU models the timing service knows; empty when it cannot be asked.
using KnownGpus = std::function<std::vector<std::string>()>;

// Adds to `problems` where the GPU of a cluster is unknown; `pointer` is the cluster spec's.
void CheckGpu(const ClusterSpec& cluster, const std::string& pointer, const KnownGpus& known_gpus,
              Problems* problems);

// Memory of this machine that processes can have, in bytes; 0: not known.
std::uint64_t AvailableMemory();

// Folds a job whose sizes are settled, where it asks for that, or where `memory_bytes` (0: not
// known) do not hold a process for each rank. A replay is left as it is: its recording says which
// ranks ran (recorded_job.h).
void FoldJob(std::uint64_t memory_bytes, std::span<const folding::Dimension> dimensions,
             ResolvedJob* resolved, Problems* problems);

// Checks the job against its cluster (the inline one, or `referenced`) and settles the sizes. The
// answer is meaningful when nothing was added to `problems`. Nothing is folded yet.
// Requires: spec.cluster or referenced.
ResolvedJob Resolve(const JobSpec& spec, const ClusterSpec* referenced, const KnownGpus& known_gpus,
                    Problems* problems);

}  // namespace eidolon::controller::job
