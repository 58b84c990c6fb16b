#include "services/controller/reconcile/object_state.h"

#include <ctime>
#include <nlohmann/json.hpp>

namespace eidolon::controller::reconcile {
namespace {

using nlohmann::json;

json ConditionsOf(const json& object) {
  return object.value("status", json::object()).value("conditions", json::array());
}

}  // namespace

bool IsBeingDeleted(const json& object) { return object["metadata"].contains("deletionTimestamp"); }

std::int64_t ParseTime(const std::string& text) {
  std::tm utc{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc) == nullptr) return 0;
  return timegm(&utc);
}

bool IsReady(const std::optional<json>& deployment) {
  if (!deployment) return false;
  const json status = deployment->value("status", json::object());
  return status.value("availableReplicas", 0) > 0;
}

std::string RefusalOf(const std::optional<json>& deployment) {
  if (!deployment) return "";
  for (const json& entry : ConditionsOf(*deployment)) {
    if (entry.value("type", "") == "ReplicaFailure" && entry.value("status", "") == "True") {
      return entry.value("message", "");
    }
  }
  return "";
}

PodRefusal RefusalOfNetwork(const std::optional<json>& deployment,
                            const std::optional<json>& cluster, const std::string& refused) {
  constexpr int kForbidden = 403;  // As events and conditions have no status.
  if (!refused.empty()) return ClassifyRefusal(kForbidden, refused);
  if (const std::string of_pods = RefusalOf(deployment); !of_pods.empty()) {
    return ClassifyRefusal(kForbidden, of_pods);
  }
  if (!cluster) return {};
  for (const json& entry : ConditionsOf(*cluster)) {
    const std::string message = entry.value("message", "");
    if (entry.value("type", "") == "Ready" && message.starts_with(kNotLetIn)) {
      return {PodRefusal::Kind::kWaits, entry.value("reason", ""),
              message.substr(sizeof(kNotLetIn) - 1)};
    }
  }
  return {};
}

bool HasEnded(const json& batch) {
  for (const json& entry : ConditionsOf(batch)) {
    const std::string type = entry.value("type", "");
    if ((type == "Complete" || type == "Failed") && entry.value("status", "") == "True") {
      return true;
    }
  }
  return false;
}

}  // namespace eidolon::controller::reconcile
