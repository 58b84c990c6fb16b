// Nothing of a job outlives it: a small process above the agent that ends what the agent leaves.
//
//   controller -- guardian -- agent -- command, ranks, their children
//
// The guardian waits. It is the reaper of everything below it, so a process that a rank has sent
// away (another session, forked twice, an empty environment) becomes its child when whoever stood
// between has ended, also when that is the agent, killed. Then it kills all that is left and ends
// as the agent did. It ends the agent when the controller dies, and then removes the run's folder,
// since nobody else will. When it is killed itself, the agent ends in order, and whoever started
// the guardian inherits what is left (controller/place/agent_processes.h).
#pragma once

#include <string>
#include <vector>

namespace eidolon::agent::launch {

struct GuardOptions {
  // Removed with all that is in them when the process that started this one has died.
  std::vector<std::string> folders;
  // How long the agent may take to end then.
  int grace_ms = 20'000;
};

// Splits this process in two. Returns in the new one, which is the agent; the old one becomes the
// guardian, and ends when everything below it has. Requires: there are no threads yet.
void BecomeGuarded(const GuardOptions& options);

}  // namespace eidolon::agent::launch
