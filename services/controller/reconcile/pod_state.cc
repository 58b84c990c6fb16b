// Kubernetes reports most causes as text, so the tables here list the reasons that kubelet,
// scheduler and registries use; an image error that is not listed counts as one that may pass. The
// order of the sources matters: the condition DisruptionTarget is set before a pod is disturbed and
// is the most reliable one, the status of the pod follows, and last the readiness that a node
// controller takes away. A container that was killed says nothing of the cause, so its last line of
// output is not quoted.
#include "services/controller/reconcile/pod_state.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/reconcile/memory_kill.h"

namespace eidolon::controller::reconcile {
namespace {

using base::StrCat;
using nlohmann::json;
namespace reason = job::reason;

constexpr std::size_t kLineBytesMax = 300;
constexpr char kIndexLabel[] = "batch.kubernetes.io/job-completion-index";

// A message may be the end of the container's log: its last line says why it ended.
std::string LastLine(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string::npos) text.erase(0, begin + 1);
  return text.substr(0, kLineBytesMax);
}

std::string DescribeEnd(const json& terminated) {
  const std::string reason = terminated.value("reason", "");
  const int signal = terminated.value("signal", 0);
  const int code = terminated.value("exitCode", 0);
  const std::string message = terminated.value("message", "");
  std::string text = signal != 0 || code > 128
                         ? StrCat("was killed by signal ", signal != 0 ? signal : code - 128)
                         : StrCat("ended with exit status ", code);
  if (!reason.empty() && reason != "Error" && reason != "Completed") text += " (" + reason + ")";
  // What is killed says nothing of why; its last line would be a guess.
  const std::string last = text.starts_with("was killed") ? "" : LastLine(message);
  if (!last.empty()) text += ": " + last;
  return text;
}

void InspectContainers(const json& list, PodState* state) {
  for (const json& container : list) {
    const json& now = container.value("state", json::object());
    if (now.contains("waiting")) {
      const std::string reason = now["waiting"].value("reason", "");
      if (reason == "PodInitializing" || reason == "ContainerCreating") continue;
      state->waiting_reason = reason;
      state->waiting_message = now["waiting"].value("message", "");
    }
    const bool injection = container.value("name", "") == "eidolon-injection";
    if (!now.contains("terminated")) continue;
    if (injection && now["terminated"].value("exitCode", 0) == 0) continue;
    state->ended = (injection ? "(copying shim and agent) " : "") + DescribeEnd(now["terminated"]);
  }
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Named {
  std::string_view name;
  std::string_view reason;
  std::string_view message;
};

// Reasons of the condition DisruptionTarget, which whoever disrupts a pod sets before.
constexpr Named kTargets[] = {
    {"EvictionByEvictionAPI", reason::kPodEvicted, "was evicted, as by a drain of its node"},
    {"PreemptionByScheduler", reason::kPodPreempted, "was preempted by a pod of higher priority"},
    {"DeletionByTaintManager", reason::kNodeLost, "was deleted because of a taint of its node"},
    {"DeletionByPodGC", reason::kNodeLost, "was deleted because its node is gone"},
    {"TerminationByKubelet", reason::kPodEvicted, "was ended by its node"},
};

// Reasons of the status of a pod that the kubelet has ended or would not take.
constexpr Named kRejections[] = {
    {"Evicted", reason::kPodEvicted, "was evicted by its node"},
    {"Preempting", reason::kPodPreempted, "was preempted on its node"},
    {"Preempted", reason::kPodPreempted, "was preempted on its node"},
    {"NodeLost", reason::kNodeLost, "was on a node that was lost"},
    {"Shutdown", reason::kNodeLost, "was ended because its node shut down"},
    {"NodeShutdown", reason::kNodeLost, "was refused because its node shuts down"},
    {"Terminated", reason::kNodeLost, "was ended because its node shut down"},
    {"UnexpectedAdmissionError", reason::kPodRejected, "was refused by its node"},
    {"OutOfcpu", reason::kPodRejected, "was refused by its node, which has no CPU left"},
    {"OutOfmemory", reason::kPodRejected, "was refused by its node, which has no memory left"},
    {"OutOfpods", reason::kPodRejected, "was refused by its node, which holds no more pods"},
    {"NodeAffinity", reason::kPodRejected, "was refused by its node, whose labels have changed"},
};

// What registries answer when asking again is of no use. "no such host" is the name server's answer
// that there is none; one that cannot answer says otherwise.
constexpr std::string_view kNoSuchImage[] = {
    "not found",
    "manifest unknown",
    "name unknown",
    "does not exist",
    "denied",
    "unauthorized",
    "Unauthorized",
    "authentication required",
    "no basic auth",
    "no such host",
    "no match for platform",
    "invalid reference",
    "403 Forbidden",
    "401 ",
    "NotFound",
};

std::optional<Disruption> FindNamed(std::span<const Named> rows, const std::string& name,
                                    const std::string& message) {
  for (const Named& row : rows) {
    if (row.name != name) continue;
    const std::string told = message.empty() ? "" : StrCat(": ", message);
    return Disruption{std::string(row.reason), std::string(row.message) + told};
  }
  return std::nullopt;
}

// A kubelet that comes back, or a node that started anew, has lost its containers.
bool HasLostContainers(const json& status) {
  for (const json& container : status.value("containerStatuses", json::array())) {
    const json ended = container.value("state", json::object()).value("terminated", json::object());
    if (ended.value("reason", "") == "ContainerStatusUnknown") return true;
  }
  return false;
}

std::optional<Disruption> FindDisruption(const json& status, const std::string& phase) {
  std::string ready, containers_ready;
  for (const json& condition : status.value("conditions", json::array())) {
    const std::string type = condition.value("type", "");
    if (type == "Ready") ready = condition.value("status", "");
    if (type == "ContainersReady") containers_ready = condition.value("status", "");
    if (type != "DisruptionTarget" || condition.value("status", "") != "True") continue;
    const std::string why = condition.value("reason", "");
    const std::string message = condition.value("message", "");
    if (auto known = FindNamed(kTargets, why, message)) return known;
    return Disruption{std::string(reason::kPodEvicted),
                      StrCat("was disrupted (", why, "): ", message)};
  }
  if (phase == "Failed") {
    auto known = FindNamed(kRejections, status.value("reason", ""), status.value("message", ""));
    if (known) return known;
  }
  if (HasLostContainers(status)) {
    return Disruption{std::string(reason::kNodeLost), "was lost by its node, which started anew"};
  }
  // The node controller takes the readiness of pods away; their containers say nothing any more.
  if (phase == "Running" && ready == "False" && containers_ready == "True") {
    return Disruption{std::string(reason::kNodeLost), "is on a node that does not answer"};
  }
  return std::nullopt;
}

bool IsPulling(const PodState& pod) {
  return pod.waiting_reason == "ImagePullBackOff" || pod.waiting_reason == "ErrImagePull";
}

std::uint32_t ServerOf(const json& metadata) {
  const std::string index = metadata.value("labels", json::object()).value(kIndexLabel, "0");
  const auto number = static_cast<std::uint32_t>(base::ParseInteger(index).value_or(0));
  const json annotations = metadata.value("annotations", json::object());
  if (!annotations.contains(kServersAnnotation)) return number;
  const json servers = json::parse(annotations.value(kServersAnnotation, ""), nullptr, false);
  const bool is_listed = servers.is_array() && number < servers.size();
  return is_listed && servers[number].is_number_unsigned() ? servers[number].get<std::uint32_t>()
                                                           : kNoServer;
}

}  // namespace

PodState InspectPod(const json& pod) {
  PodState state;
  const json& metadata = pod.at("metadata");
  state.name = metadata.value("name", "");
  state.server = ServerOf(metadata);
  const json status = pod.value("status", json::object());
  state.ip = status.value("podIP", "");
  state.deleted_at = metadata.value("deletionTimestamp", "");
  state.started_at = status.value("startTime", "");
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    InspectContainers(status.value(list, json::array()), &state);
  }
  for (const json& condition : status.value("conditions", json::array())) {
    if (condition.value("type", "") != "PodScheduled" || condition.value("status", "") != "False") {
      continue;
    }
    state.waiting_reason = condition.value("reason", "");
    state.waiting_message = condition.value("message", "");
  }
  state.memory_kill = DescribeMemoryKill(pod);
  const std::string phase = status.value("phase", "");
  state.disruption = FindDisruption(status, phase);
  if (phase == "Failed" && status.contains("reason")) {
    state.ended = StrCat("was ended by Kubernetes (", status.value("reason", ""),
                         "): ", status.value("message", ""));
  }
  if (!state.ended && (phase == "Failed" || phase == "Succeeded")) {
    state.ended = StrCat("ended in phase ", phase);
  }
  return state;
}

std::string HopelessReason(const PodState& pod) {
  const std::string& reason = pod.waiting_reason;
  if (reason == "CreateContainerConfigError" &&
      (Contains(pod.waiting_message, "runAsNonRoot") || Contains(pod.waiting_message, "non-root") ||
       Contains(pod.waiting_message, "run as root"))) {
    return std::string(job::reason::kPodSecurityViolation);
  }
  if (reason == "InvalidImageName" || reason == "ErrImageNeverPull") {
    return std::string(job::reason::kImageNotFound);
  }
  const bool is_final = std::ranges::any_of(
      kNoSuchImage, [&](std::string_view part) { return Contains(pod.waiting_message, part); });
  if (IsPulling(pod) && is_final) return std::string(job::reason::kImageNotFound);
  return "";
}

bool WaitsForImage(const PodState& pod) { return IsPulling(pod) && HopelessReason(pod).empty(); }

std::string HopelessMessage(const PodState& pod) {
  const std::string reason = HopelessReason(pod);
  const std::string told = StrCat("pod ", pod.name, ": ", pod.waiting_message);
  if (reason == job::reason::kPodSecurityViolation) {
    return told +
           "; the image wants to run as root, which jobs may not: give the image a numeric USER, "
           "or "
           "set spec.podTemplate.securityContext.runAsUser to a user id that can read its files";
  }
  return told + "; check spec.image, and spec.podTemplate.imagePullSecrets for a private registry";
}

}  // namespace eidolon::controller::reconcile
