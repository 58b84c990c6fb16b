// The part a thread plays in virtual time.
//
//   driver    the main thread, and every thread that has issued GPU work: its calls and sleeps
//             move the rank clock
//   watchdog  a thread that only observes (PyTorch names its own pt_nccl_*): never moves the clock,
//             is answered from committed state, and reads a clock that runs no faster than real
//             time, so that a virtual hour in a real second fires no timeout
//   helper    everything else: reads the rank clock, never moves it
#pragma once

#include <cstddef>
#include <span>

#include <sys/types.h>

namespace eidolon::shim::core {

enum class ThreadRole { kDriver, kWatchdog, kHelper };

// The calling thread's role. Costs a thread-local read.
ThreadRole CurrentRole() noexcept;

// The calling thread issued GPU work: from now on it is a driver, unless it is a watchdog.
void NoteThreadIssuedWork() noexcept;

// Writes the identities of the main thread and of the threads that have issued GPU work (also of
// those that have ended since) and returns how many there are: at most as many as fit.
std::size_t ListDrivers(std::span<pid_t> drivers) noexcept;

// While it lives, the calling thread runs a backward pass of PyTorch's, or waits for its next one.
class BackwardScope {
 public:
  BackwardScope() noexcept;
  BackwardScope(const BackwardScope&) = delete;
  BackwardScope& operator=(const BackwardScope&) = delete;
  ~BackwardScope();
};

// Returns whether the calling thread runs a backward pass.
bool RunsBackward() noexcept;

// The calling thread got this name (pthread_setname_np).
void NoteThreadName(const char* name) noexcept;

}  // namespace eidolon::shim::core
