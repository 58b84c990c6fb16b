// A job that has agents: its state machine, and what belongs to this one run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/critical_path/summary.h"
#include "services/controller/agents/agent_link.h"
#include "services/controller/embedded/processor_time.h"
#include "services/controller/job/resolve.h"
#include "services/controller/job/run.h"
#include "services/controller/place/run_directory.h"
#include "services/controller/store/job_log.h"

namespace eidolon::controller::embedded {

struct ActiveRunParts {
  job::ResolvedJob resolved;
  std::string network_job;  // Name at the network service.
  place::RunDirectory directory;
  std::shared_ptr<store::JobLog> log;
  std::uint16_t master_port = 0;
  double peak_flops = 0;
  std::int64_t now_ns = 0;
  std::string start_time;  // RFC 3339.
};

// Owns the run directory and the log. Not thread safe.
class ActiveRun {
 public:
  explicit ActiveRun(ActiveRunParts parts);

  job::Run& run() { return run_; }
  const job::Run& run() const { return run_; }
  const ActiveRunParts& parts() const { return parts_; }
  ActiveRunParts& parts() { return parts_; }
  // Secrets of the agents, by server.
  const std::vector<std::string>& tokens() const { return tokens_; }

  void Attach(std::uint32_t server, std::shared_ptr<agents::AgentLink> link);
  void Detach(std::uint32_t server) { links_.erase(server); }
  bool IsAttached(std::uint32_t server) const { return links_.contains(server); }
  std::vector<std::shared_ptr<agents::AgentLink>> links() const;

  // Progress, prediction and cost into a status that has conditions already.
  void FillIn(job::JobStatus* status, std::int64_t now_ns) const;
  // Copies the agents' event logs to `folder`, as server-<n>.log: whole ones, or none of a server.
  base::Result<void> SaveEventLogs(const std::string& folder) const;
  // Puts what the agents wrote of the timeline behind each other into `path`: all of it, or
  // nothing.
  base::Result<void> SaveTimeline(const std::string& path) const;
  // The same of the recording, behind `job`: JSON that says what was run.
  base::Result<void> SaveRecording(const std::string& job, const std::string& path) const;
  // Finds the path in what the agents wrote beside the timeline.
  base::Result<critical_path::Summary> FindCriticalPath() const;

 private:
  base::Result<void> Join(const std::string& file, std::string_view head,
                          const std::string& path) const;

  ActiveRunParts parts_;
  job::Run run_;
  std::vector<std::string> tokens_;
  std::map<std::uint32_t, std::shared_ptr<agents::AgentLink>> links_;
  std::optional<ProcessorTime> processors_;  // When the run began.
};

// The last lines an agent has logged in its run directory, for messages; empty when there are none.
std::string AgentLogTail(const std::string& server_path);

}  // namespace eidolon::controller::embedded
