// Decides and shows a job's attempts.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/job/job.h"
#include "services/controller/job/run.h"

namespace eidolon::controller::reconcile {

// Verdicts that the loss of a pod may have caused. Out of memory or an unsupported call it did not.
bool MayBeConsequence(const job::Verdict& verdict);

// How long the next attempt is put off when so many were lost: the first retry follows at once.
std::int64_t PauseSeconds(std::uint32_t failed_attempts);

// The cluster that a job runs on, from the SimulatedCluster and the job's `status`: as it was when
// the job was first started. A cluster may change, what a prediction is of may not.
job::ParsedCluster ClusterOfJob(const nlohmann::json& cluster, const nlohmann::json& status);

// A prediction, as in a status, for tables: "12.30 ms", "12.30 s in all" of a program without
// iterations, or "-".
std::string PredictedText(const nlohmann::json& prediction);

}  // namespace eidolon::controller::reconcile
