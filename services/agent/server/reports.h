// Sends the controller's reports of a job: iterations, progress, usage, the outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "services/agent/client/controller_client.h"
#include "services/agent/cost/cost_cache.h"
#include "services/agent/iteration/ledger.h"
#include "services/agent/outcome/verdict.h"
#include "services/agent/server/job_parts.h"
#include "services/agent/server/metrics.h"
#include "services/agent/server/process_watch.h"
#include "services/agent/server/processes.h"

namespace eidolon::controller::v1 {
class Usage;
}

namespace eidolon::agent::server {

// Iterations of processes that are not known to be a rank are held until they are. Main loop only.
class Reports {
 public:
  // All outlive it.
  Reports(const JobParts* job, const Processes* processes, const ProcessWatch* watch,
          client::ControllerClient* controller, Metrics* metrics)
      : job_(job),
        processes_(processes),
        watch_(watch),
        controller_(controller),
        metrics_(metrics) {}

  // Requires: no iteration has ended.
  void UseCosts(const cost::CostCache* costs) { costs_ = costs; }

  void SendIteration(const session::Session& session, std::int32_t rank,
                     const iteration::Report& report);
  // The process is not a rank, or not known to be one. What is not wanted is not kept either.
  void HoldIteration(const session::Session& session, const iteration::Report& report);
  // Processes have become ranks: what they had to report is due.
  void SendHeld();

  // `waiting`: of the mailbox.
  void SendProgress(std::size_t waiting);
  // `clamped`: posts that were moved to the settled time. The last usage of a job also has its
  // ranks' whole programs.
  void SendUsage(std::uint64_t clamped, bool is_last);
  // Waits until the controller has it.
  void SendOutcome(const outcome::Ending& ending);
  // Puts the event logs of all ranks into one.
  void JoinEventLogs() const;

 private:
  void FillEnergy(const iteration::Split& split, base::Duration length,
                  controller::v1::Energy* energy) const;
  void AddPrograms(controller::v1::Usage* usage) const;

  const JobParts* job_;
  const Processes* processes_;
  const ProcessWatch* watch_;
  client::ControllerClient* controller_;
  Metrics* metrics_;
  const cost::CostCache* costs_ = nullptr;
  std::map<std::uint32_t, std::vector<iteration::Report>> held_;  // By process.
  std::uint64_t launches_counted_ = 0;
  std::uint64_t unknown_sources_counted_ = 0;
};

}  // namespace eidolon::agent::server
