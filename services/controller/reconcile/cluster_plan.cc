#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/job.h"
#include "services/controller/job/object_size.h"
#include "services/controller/job/resolve.h"
#include "services/controller/reconcile/object_state.h"
#include "services/controller/reconcile/objects.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {

using base::StrCat;
using nlohmann::json;
namespace reason = job::reason;

json DocumentOf(const json& object) {
  json document = {{"apiVersion", object.value("apiVersion", "")},
                   {"kind", object.value("kind", "")},
                   {"metadata", json::object()}};
  for (const char* field : {"name", "namespace"}) {
    if (object["metadata"].contains(field)) {
      document["metadata"][field] = object["metadata"][field];
    }
  }
  if (object.contains("spec")) document["spec"] = object["spec"];
  return document;
}

Plan ReconcileCluster(const ObservedCluster& observed, const Settings& settings) {
  Plan plan;
  const json& cluster = observed.cluster;
  if (IsBeingDeleted(cluster)) return plan;
  job::ParsedCluster parsed = job::ParseCluster(DocumentOf(cluster));
  job::CheckSpecSize(cluster, job::kClusterSpecBytesMax, &parsed.problems);
  if (parsed.problems.empty() && observed.gpus) {
    job::CheckGpu(
        parsed.spec, "/spec", [&] { return *observed.gpus; }, &parsed.problems);
  }
  const json old_status = cluster.value("status", json::object());
  auto conditions = job::Conditions::FromJson(old_status.value("conditions", json::array()));
  const std::int64_t generation = cluster["metadata"].value("generation", std::int64_t{1});
  const auto set = [&](const char* type, bool value, std::string_view why,
                       const std::string& message) {
    conditions.Set({type, value, std::string(why), message, base::FormatUtc(observed.now_unix_ns),
                    generation});
  };
  const bool valid = parsed.problems.empty();
  set("Accepted", valid, valid ? reason::kValid : reason::kInvalidSpec,
      job::Describe(parsed.problems));
  if (valid) plan.apply = NetworkObjects(cluster, settings);
  const bool ready = valid && IsReady(observed.network);
  const std::string refused =
      observed.refused.empty() ? RefusalOf(observed.network) : observed.refused;
  if (!ready && !refused.empty()) {
    const PodRefusal refusal = ClassifyRefusal(403, refused);
    set("Ready", false, refusal.reason, StrCat(kNotLetIn, refusal.message));
  } else {
    set("Ready", ready, ready ? reason::kStarted : reason::kStarting,
        ready ? "" : "the network service does not run yet");
  }
  json status = {{"observedGeneration", generation}, {"conditions", conditions.ToJson()}};
  if (valid) status["resolved"] = job::ToJson(parsed.spec);
  if (status != old_status) plan.status = std::move(status);
  return plan;
}

}  // namespace eidolon::controller::reconcile
