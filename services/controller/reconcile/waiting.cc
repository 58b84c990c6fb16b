#include "services/controller/reconcile/waiting.h"

#include "services/base/text.h"
#include "services/controller/job/condition.h"

namespace eidolon::controller::reconcile {

using base::StrCat;

std::optional<PodRefusal> FindWaiting(const RunFacts& run, std::span<const PodState> pods,
                                      std::size_t agents) {
  if (run.assembled) return std::nullopt;
  if (run.refusal) return run.refusal;
  std::size_t waiting = 0;
  const PodState* first = nullptr;
  for (const PodState& pod : pods) {
    if (pod.waiting_reason != "Unschedulable" && pod.waiting_reason != "SchedulingGated") continue;
    ++waiting;
    if (first == nullptr) first = &pod;
  }
  if (first == nullptr) return std::nullopt;
  return PodRefusal{PodRefusal::Kind::kWaits, std::string(job::reason::kUnschedulable),
                    StrCat(waiting, " of ", agents, " pods wait for a node; pod ", first->name,
                           ": ", first->waiting_message)};
}

std::string DescribeWaiting(std::span<const PodState> pods, std::size_t agents) {
  const std::string text = StrCat("waiting for the agents of ", agents, " server(s)");
  for (const PodState& pod : pods) {
    if (pod.waiting_reason.empty()) continue;
    return text + StrCat("; pod ", pod.name, ": ", pod.waiting_reason, ": ", pod.waiting_message);
  }
  return text;
}

}  // namespace eidolon::controller::reconcile
