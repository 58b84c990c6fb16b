// A wait for a moment of virtual time that something else may end first: the process's side of
// services/contract/ring/virtual_sleep.h. The agent lets the moment pass when nothing earlier can
// happen in the job.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"

namespace eidolon::shim::time {

// One connection to the agent. Not shared; hangs up when it is destroyed. Leaves errno alone.
class VirtualSleep {
 public:
  enum class State { kNone, kWaiting, kPassed, kRefused };

  VirtualSleep() noexcept = default;
  ~VirtualSleep() { End(); }
  VirtualSleep(const VirtualSleep&) = delete;
  VirtualSleep& operator=(const VirtualSleep&) = delete;

  // A moment of the rank clock; `patience_ns`: real time that it is given at least.
  void Begin(base::SimTime moment, std::int64_t patience_ns) noexcept;
  // A length, for processes without a clock. Zero is none: the agent refuses it.
  void BeginLength(base::Duration length, std::int64_t patience_ns) noexcept;
  // Waits at most `ns` of real time for the answer. Sets `interrupted` when a signal was handled.
  State Wait(std::int64_t ns, bool* interrupted = nullptr) noexcept;
  void End() noexcept;
  // In a fork: the connection is the parent's.
  void Forget() noexcept;

  State state() const noexcept { return state_; }

 private:
  void Connect(std::uint64_t moment_ps, std::uint64_t length_ps, std::int64_t patience_ns) noexcept;

  int socket_ = -1;
  State state_ = State::kNone;
};

// Requires: FollowsReceivedTime(). Asks the agent, for a few milliseconds of real time, whether
// nothing in the job can happen before `time` of the program's clocks any more; true also where the
// agent does not follow time, since no rank has begun.
bool NothingHappensBefore(base::SimTime time) noexcept;

}  // namespace eidolon::shim::time
