#include "services/controller/reconcile/admission.h"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "services/controller/job/condition.h"

namespace eidolon::controller::reconcile {
namespace {

namespace reason = job::reason;
using nlohmann::json;

}  // namespace

bool WaitsForAdmission(const json& job) {
  static const std::set<std::string_view> kOfOthers = {
      reason::kClusterNotFound,      reason::kWaitingForServices, reason::kQuotaExceeded,
      reason::kAdmissionUnavailable, reason::kPodRefused,         reason::kPodSecurityViolation};
  if (!job["spec"].contains("clusterRef")) return true;
  const json status = job.value("status", json::object());
  for (const json& entry : status.value("conditions", json::array())) {
    if (entry.value("type", "") != job::condition::kScheduled) continue;
    return entry.value("status", "") == "True" || !kOfOthers.contains(entry.value("reason", ""));
  }
  return true;
}

std::map<std::string, Admission> ComputeAdmissions(const std::vector<QueuedJob>& jobs,
                                                   std::size_t limit) {
  std::map<std::string, Admission> admissions;
  std::map<std::string, std::deque<const QueuedJob*>> waiting;
  std::map<std::string, std::size_t> shares;  // Active jobs of a namespace.
  std::size_t running = 0;
  for (const QueuedJob& job : jobs) {
    if (job.active) {
      admissions[job.key] = {.granted = true};
      ++shares[job.name_space];
      ++running;
    } else {
      waiting[job.name_space].push_back(&job);
    }
  }
  for (auto& [name_space, queue] : waiting) {
    std::sort(queue.begin(), queue.end(), [](const QueuedJob* a, const QueuedJob* b) {
      return std::tie(a->created, a->key) < std::tie(b->created, b->key);
    });
  }
  std::size_t granted = running;
  std::size_t before = 0;
  while (!waiting.empty()) {
    const auto next =
        std::min_element(waiting.begin(), waiting.end(), [&](const auto& a, const auto& b) {
          return std::tuple(shares[a.first], a.second.front()->created, a.second.front()->key) <
                 std::tuple(shares[b.first], b.second.front()->created, b.second.front()->key);
        });
    const QueuedJob* job = next->second.front();
    const bool admitted = granted < limit;
    admissions[job->key] = {.granted = admitted, .before = admitted ? 0 : before, .running = 0};
    granted += admitted ? 1 : 0;
    before += admitted ? 0 : 1;
    ++shares[job->name_space];
    next->second.pop_front();
    if (next->second.empty()) waiting.erase(next);
  }
  for (auto& [key, admission] : admissions) admission.running = granted;
  return admissions;
}

}  // namespace eidolon::controller::reconcile
