#include "services/controller/reconcile/attempt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/seconds.h"
#include "services/controller/job/condition.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;
namespace reason = job::reason;

constexpr std::int64_t kPauseSeconds = 10;  // Doubling.
constexpr std::int64_t kPauseSecondsMax = 300;

}  // namespace

bool MayBeConsequence(const job::Verdict& verdict) {
  for (const std::string_view why : {reason::kAgentLost, reason::kRankLost, reason::kSessionLost,
                                     reason::kCommandFailed, reason::kStuck, reason::kDeadlock}) {
    if (verdict.reason == why) return true;
  }
  return false;
}

std::int64_t PauseSeconds(std::uint32_t failed_attempts) {
  if (failed_attempts < 2) return 0;
  return std::min(kPauseSeconds << std::min(failed_attempts - 2, 5u), kPauseSecondsMax);
}

job::ParsedCluster ClusterOfJob(const json& cluster, const json& status) {
  json document = DocumentOf(cluster);
  if (status.contains("cluster")) document["spec"] = status["cluster"];
  return job::ParseCluster(document);
}

std::string PredictedText(const json& prediction) {
  if (prediction.contains("steadyIteration")) {
    return base::FormatSeconds(prediction["steadyIteration"].value("seconds", 0.0));
  }
  if (prediction.contains("iterationSeconds")) {
    return base::FormatSeconds(prediction["iterationSeconds"].value("mean", 0.0));
  }
  if (prediction.contains("program")) {
    return base::FormatSeconds(prediction["program"].value("seconds", 0.0)) + " in all";
  }
  return "-";
}

}  // namespace eidolon::controller::reconcile
