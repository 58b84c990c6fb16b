// Agents as child processes of this program, for the embedded mode.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/place/agent_processes.h"
#include "services/controller/place/placement.h"

namespace eidolon::controller::place {

// Attributes of a process that this program has changed for itself; nothing: it has not.
struct Inherited {
  std::optional<mode_t> umask;
  std::optional<std::uint64_t> open_files;  // The soft limit.
};

// Owns the processes; its end ends them.
class LocalPlacement final : public Placement {
 public:
  // `agent_program`: path of eidolon-agent.
  // `inherited`: what agents and their jobs have in place of this process's own.
  explicit LocalPlacement(std::string agent_program, Inherited inherited = {})
      : agent_program_(std::move(agent_program)), inherited_(inherited) {}

  base::Result<void> Start(const PlacementRequest& request) override;
  void Terminate(std::int64_t job_uid) override;
  void Kill(std::int64_t job_uid) override;
  std::string DescribeStopped(std::int64_t job_uid, std::uint32_t server) override;

 private:
  base::Result<void> StartOne(const PlacementRequest& request, const AgentSlot& slot);
  void Forget(std::int64_t job_uid, std::uint32_t server);
  void Signal(std::int64_t job_uid, int signal);

  const std::string agent_program_;
  const Inherited inherited_;
  std::mutex mutex_;  // Guards agents_.
  // Process by job and server; 0 while it is being started.
  std::map<std::int64_t, std::map<std::uint32_t, int>> agents_;
  AgentProcesses processes_;  // Last: its end calls nobody back.
};

}  // namespace eidolon::controller::place
