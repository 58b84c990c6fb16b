// Determines how a process that is not our child ended.
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

// A process that is observed from a time when it lived, so that its number cannot stand for another
// one. Linux 6.15 and later keep the status of a process that its parent has collected while a
// descriptor of it is open; with older kernels such a process has vanished.
class ObservedProcess {
 public:
  explicit ObservedProcess(pid_t process);
  ~ObservedProcess();
  ObservedProcess(ObservedProcess&& other) noexcept;
  ObservedProcess(const ObservedProcess&) = delete;
  ObservedProcess& operator=(const ObservedProcess&) = delete;

  Death Look() const;

 private:
  pid_t process_;
  int descriptor_;  // -1: the process was gone, or the kernel gives none.
};

}  // namespace eidolon::agent::launch
