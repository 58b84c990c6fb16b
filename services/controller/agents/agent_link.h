// The controller's side of an agent: who it is, what it is told, how it is reached.
#pragma once

#include <cstdint>
#include <string>

#include "services/controller/job/resolve.h"

namespace eidolon::controller::agents {

// An agent by its job and server.
struct AgentName {
  std::int64_t job_uid = 0;
  std::uint32_t server = 0;
};

// All that an agent needs to run its share of a job.
struct Assignment {
  AgentName agent;
  std::string job;  // Name of the job at the network service.
  job::ResolvedJob resolved;
  std::string run_directory;
  std::string timing_address;
  std::string network_address;
  std::string service_token;  // For both.
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
  // Of each file that the agent sends; 0: it sends none, its run directory is read.
  std::uint64_t sent_output_bytes_max = 0;
};

// Sends to one connected agent. Thread safe; sending to an agent that is gone does nothing. The
// agent receives its assignment before anything else.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void SendStop(const std::string& reason) = 0;
};

}  // namespace eidolon::controller::agents
