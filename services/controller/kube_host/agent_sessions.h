// The agents' side of the controller on Kubernetes: who they are is told by the token of their pod,
// and what they report goes to the run of their job.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/base/clock.h"
#include "services/controller/agents/agent_handler.h"
#include "services/controller/kube/informer.h"
#include "services/controller/kube/reviews.h"
#include "services/controller/kube_host/run_registry.h"
#include "services/controller/metrics/metrics.h"

namespace eidolon::controller::kube_host {

// What it is given must outlive it.
struct AgentSessionsParts {
  const base::RealClock& clock;
  kube::Reviews& reviews;
  metrics::Metrics& metrics;
  const kube::Informer& placed;  // Kubernetes' Jobs.
  const kube::Informer& pods;
  RunRegistry& runs;
  std::function<void(const kube::ObjectKey& job)> changed;  // The job is to be reconciled.
};

// Thread safe.
class AgentSessions final : public agents::AgentHandler {
 public:
  explicit AgentSessions(AgentSessionsParts parts) : parts_(std::move(parts)) {}

  base::Result<agents::Assignment> Attach(const std::string& token,
                                          std::shared_ptr<agents::AgentLink> link) override;
  void Detach(agents::AgentName agent) override;
  void OnIteration(agents::AgentName agent, const job::RankIteration& iteration) override;
  void OnProgress(agents::AgentName agent, const job::AgentProgress& progress) override;
  void OnUsage(agents::AgentName agent, job::ServerUsage usage) override;
  void OnLogLine(agents::AgentName agent, store::LogEntry entry) override;
  void OnOutput(agents::AgentName agent, const outputs::Part& part) override;
  void OnOutcome(agents::AgentName agent, job::AgentOutcome outcome) override;

 private:
  // An agent's pod as the informers show it. What owner references say of it is what the maker of
  // the pod wrote: a claim, until Join has compared it with the batch Job that the run was given.
  struct Pod {
    std::string name_space;
    std::string address;
    std::uint32_t server = 0;
    std::string placed_uid;  // Of the batch Job that is to own it.
    std::string job_uid;     // Of the SimulationJob that is to own that one.
  };
  // None while the pod, or the Job that owns it, has not been observed.
  std::optional<Pod> FindPod(const kube::Identity& identity) const;
  // Takes the link of the pod's server into its run; null while the uid of the run's batch Job is
  // not known yet.
  base::Result<std::shared_ptr<KubeRun>> Join(const RunRegistry::View& runs, const Pod& pod,
                                              const std::shared_ptr<agents::AgentLink>& link);

  const AgentSessionsParts parts_;
};

}  // namespace eidolon::controller::kube_host
