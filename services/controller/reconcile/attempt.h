// What is decided and shown about a job's attempts.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/job/run.h"

namespace eidolon::controller::reconcile {

// Verdicts that the loss of a pod may have caused. Out of memory or an unsupported call it did not.
bool MayBeConsequence(const job::Verdict& verdict);

// How long the next attempt is put off when so many were lost: the first retry follows at once.
std::int64_t PauseSeconds(std::uint32_t failed_attempts);

// A prediction, as in a status, for tables: "0.0123 s", "12.3 s in all" of a program without
// iterations, or "-".
std::string PredictedText(const nlohmann::json& prediction);

}  // namespace eidolon::controller::reconcile
