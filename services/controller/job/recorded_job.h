// Describes the recorded job (docs/recording.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace eidolon::controller::job {

// The document without secrets: of the environment it keeps what NCCL reads, as a recording is
// given to others. `cluster`: the spec of the SimulatedCluster that the job refers to; null where
// it has a cluster of its own. Requires: the document was accepted.
nlohmann::json RecordedJob(nlohmann::json document, const nlohmann::json& cluster);

}  // namespace eidolon::controller::job
