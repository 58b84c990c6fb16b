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
