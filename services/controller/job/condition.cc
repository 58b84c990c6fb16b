// The phase is computed from the conditions and never set, so the two cannot contradict each other.
// By the convention of Kubernetes, lastTransitionTime changes with the status of a condition and
// not with its reason or message. The order of the list matters: readers show the last condition
// that is true as the state of the job. Retried stays true for the rest of the job's life, so it is
// inserted in front of those that describe the present.
#include "services/controller/job/condition.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "services/controller/job/object_size.h"
#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {

using nlohmann::json;

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return "Pending";
    case Phase::kRunning:
      return "Running";
    case Phase::kComplete:
      return "Complete";
    case Phase::kFailed:
      return "Failed";
    case Phase::kInterrupted:
      return "Interrupted";
  }
  return "Pending";
}

Conditions Conditions::FromJson(const json& list) {
  Conditions conditions;
  if (!list.is_array()) return conditions;
  for (const json& entry : list) {
    if (!entry.is_object()) continue;
    Condition condition;
    condition.type = entry.value("type", "");
    condition.value = entry.value("status", "") == "True";
    condition.is_unknown = entry.value("status", "") == "Unknown";
    condition.reason = entry.value("reason", "");
    condition.message = entry.value("message", "");
    condition.last_transition_time = entry.value("lastTransitionTime", "");
    condition.observed_generation = entry.value("observedGeneration", std::int64_t{1});
    if (!condition.type.empty()) conditions.list_.push_back(std::move(condition));
  }
  return conditions;
}

void Conditions::Set(Condition condition) {
  if (condition.message.size() > kMessageBytesMax) {
    condition.message = Beginning(condition.message, kMessageBytesMax - 3) + "...";
  }
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const Condition& existing) {
    return existing.type == condition.type;
  });
  if (found == list_.end()) {
    const bool is_past = condition.type == condition::kRetried;
    const auto now = std::find_if(list_.begin(), list_.end(), [](const Condition& existing) {
      return existing.type != condition::kAccepted;
    });
    list_.insert(is_past ? now : list_.end(), std::move(condition));
    return;
  }
  if (found->value == condition.value && found->is_unknown == condition.is_unknown) {
    condition.last_transition_time = found->last_transition_time;
  }
  *found = std::move(condition);
}

const Condition* Conditions::Find(std::string_view type) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Condition& c) { return c.type == type; });
  return found == list_.end() ? nullptr : &*found;
}

bool Conditions::IsTrue(std::string_view type) const {
  const Condition* condition = Find(type);
  return condition != nullptr && condition->value;
}

Phase Conditions::phase() const {
  if (IsTrue(condition::kComplete)) return Phase::kComplete;
  if (IsTrue(condition::kFailed)) return Phase::kFailed;
  if (IsTrue(condition::kInterrupted)) return Phase::kInterrupted;
  return IsTrue(condition::kScheduled) ? Phase::kRunning : Phase::kPending;
}

json Conditions::ToJson() const {
  json list = json::array();
  for (const Condition& entry : list_) {
    list.push_back({{"type", entry.type},
                    {"status", entry.is_unknown ? "Unknown"
                               : entry.value    ? "True"
                                                : "False"},
                    {"reason", entry.reason},
                    {"message", entry.message},
                    {"lastTransitionTime", entry.last_transition_time},
                    {"observedGeneration", entry.observed_generation}});
  }
  return list;
}

}  // namespace eidolon::controller::job
