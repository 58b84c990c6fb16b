// How a process that is not our child ended.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "services/agent/launch/command.h"

namespace eidolon::agent::launch {

enum class LifeState { kAlive, kDead, kVanished };

struct Death {
  LifeState state = LifeState::kVanished;
  ExitStatus status;  // kDead.
};

// Looks at /proc: a process that has ended and was not collected by its parent yet still shows its
// status; one that was collected has vanished.
Death LookForDeath(pid_t process, const std::string& proc = "/proc");

}  // namespace eidolon::agent::launch
