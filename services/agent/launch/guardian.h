// Nothing of a job outlives it: a small process above the agent that ends what the agent leaves.
//
//   controller -- guardian -- agent -- command, ranks, their children
//
// The guardian waits. It is the reaper of everything below it, so a process that a rank has sent
// away (another session, forked twice, an empty environment) becomes its child when whoever stood
// between has ended, also when that is the agent, killed. Then it kills all that is left and ends
// as the agent did. It ends the agent when the controller dies, and then removes the run's folder,
// since nobody else will. While it is stopped, the controller waits for a bounded time and kills
// it; without a controller the agent resumes it. When it is killed itself, the agent ends in order,
// and whoever started the guardian inherits what is left (controller/place/agent_processes.h).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace eidolon::agent::launch {

struct GuardOptions {
  // Removed with all that is in them when the process that started this one has died.
  std::vector<std::string> folders;
  // Time that the agent may then take to end.
  int grace_ms = 20'000;
};

// Processes above an agent, as the agent knows them.
struct Guarded {
  pid_t guardian = 0;  // 0: there is none.
  pid_t controller = 0;
};

// Splits this process in two. Returns in the new one, which is the agent; the old one becomes the
// guardian, and ends when everything below it has. Requires: there are no threads yet.
Guarded BecomeGuarded(const GuardOptions& options);

// Of an agent that ends: a guardian that somebody has stopped (SIGSTOP) goes on when its controller
// is dead, which would have killed it; otherwise nobody would end it.
void ResumeGuardianOfDeadController(const Guarded& self);

}  // namespace eidolon::agent::launch
