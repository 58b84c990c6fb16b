// The handshake with the agent: Hello, Welcome, and the shared memory that comes with it.
#pragma once

#include <string>

#include "services/contract/ring/layout.h"

namespace eidolon::shim::core {

// Result of a successful handshake; the segment and the socket stay for the life of the process.
struct Connection {
  void* segment = nullptr;  // nullptr: failed, and `reason` says why.
  const ring::ServerPage* page = nullptr;
  ring::Doorbell* doorbell = nullptr;
  int socket = -1;
  std::string reason;  // Empty when there is no agent (not in a job).
};

Connection ConnectToAgent();

}  // namespace eidolon::shim::core
