// The socket on which processes of an emulated server introduce themselves.
#pragma once

#include <optional>
#include <string>

#include "services/base/error.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/virtual_sleep.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// Listens on <run directory>/agent.sock; returns the descriptor, close-on-exec. A left-over socket
// file is replaced.
base::Result<int> Listen(const std::string& run_directory);

// Takes the next connection of a listening socket, close-on-exec.
base::Result<int> Accept(int listener);

// Takes a VirtualSleep that is there; nothing, and nothing is taken, when it is none.
std::optional<wire::VirtualSleep> TakeVirtualSleep(int connection);
// Answers a virtual sleep: its moment has passed, or it never will.
void SendVirtualSleepEnd(int connection, bool passed);

// Reads a Hello that is there. An error says why this is none.
base::Result<wire::Hello> ReadHello(int connection);

// Descriptors that a process gets: those of its segment and of the server's doorbell.
struct SharedFiles {
  int segment = -1;
  int doorbell = -1;
};
// Accepts the process and hands the files over.
base::Result<void> SendWelcome(int connection, const SharedFiles& files);

// Refuses the process with a sentence that it will print.
void SendRefusal(int connection, const std::string& reason);

}  // namespace eidolon::agent::ring
