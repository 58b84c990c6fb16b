// Describes the recorded job (docs/recording.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "services/controller/job/problem.h"
#include "services/controller/job/resolve.h"

namespace eidolon::controller::job {

// The document without secrets: of the environment it keeps what NCCL reads, as a recording is
// given to others. `cluster`: the spec of the SimulatedCluster that the job refers to; null where
// it has a cluster of its own. Requires: the document was accepted.
nlohmann::json RecordedJob(nlohmann::json document, const nlohmann::json& cluster);

// The text of a recording's job block. `job`: of RecordedJob. `resolved`: the job as it ran, which
// says for a folded one what tells classes of its ranks apart.
std::string RecordingHead(nlohmann::json job, nlohmann::json status, const ResolvedJob& resolved);

// Folds a job that replays a recording with this text, as the recorded job was folded. Reports what
// of the job would fold otherwise. Requires: sizes are settled.
void FoldAsRecorded(std::string_view head, ResolvedJob* resolved, Problems* problems);

}  // namespace eidolon::controller::job
