#include "services/controller/reconcile/pod_state.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/controller/job/condition.h"

namespace eidolon::controller::reconcile {
namespace {

using base::StrCat;
using nlohmann::json;

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

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

PodState InspectPod(const json& pod) {
  PodState state;
  const json& metadata = pod.at("metadata");
  state.name = metadata.value("name", "");
  const std::string index = metadata.value("labels", json::object()).value(kIndexLabel, "0");
  state.server = static_cast<std::uint32_t>(base::ParseInteger(index).value_or(0));
  const json status = pod.value("status", json::object());
  state.ip = status.value("podIP", "");
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
  const std::string phase = status.value("phase", "");
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
  if (reason == "ImagePullBackOff" || reason == "ErrImagePull") {
    return std::string(job::reason::kImageNotFound);
  }
  return "";
}

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
