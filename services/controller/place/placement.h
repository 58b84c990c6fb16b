// Places the agents of a job: local processes here, pods on Kubernetes. The controller knows only
// this face.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::place {

// One agent of a job, to be started for one emulated server.
struct AgentSlot {
  std::uint32_t server = 0;
  std::string token;
  std::string run_directory;
};

struct PlacementRequest {
  std::int64_t job_uid = 0;
  std::string controller_address;
  std::vector<AgentSlot> agents;
  // Agents remove them when this program dies before they have ended.
  std::vector<std::string> folders;
  // Called once per started agent, from a thread of the placement and never from inside Start,
  // Terminate or Kill: how it ended, as a half sentence ("was killed by signal 9 (Killed)").
  std::function<void(std::uint32_t server, const std::string& how)> on_exit;
};

// Thread safe.
class Placement {
 public:
  virtual ~Placement() = default;
  // Starts all agents or none.
  virtual base::Result<void> Start(const PlacementRequest& request) = 0;
  // Asks the agents of a job that are left to end their command and themselves. Unknown jobs are
  // fine.
  virtual void Terminate(std::int64_t job_uid) = 0;
  // Ends them and everything they started, at once.
  virtual void Kill(std::int64_t job_uid) = 0;
  // How somebody has stopped the guardian of an agent (SIGSTOP, a debugger): "(pid 7,
  // eidolon-guard) is stopped (state T)". Empty when it is not, or not known. Does not block.
  virtual std::string DescribeStopped(std::int64_t job_uid, std::uint32_t server) = 0;
};

}  // namespace eidolon::controller::place
