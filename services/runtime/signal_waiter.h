// Turns SIGTERM and SIGINT into an ordinary event of the main thread.
#pragma once

#include <atomic>
#include <optional>

namespace eidolon::runtime {

// Construct before any other thread starts: the constructor blocks both signals in the calling
// thread, and threads inherit that. The destructor restores the mask of the thread that runs it.
// One per process.
class SignalWaiter {
 public:
  SignalWaiter();
  ~SignalWaiter();
  SignalWaiter(const SignalWaiter&) = delete;
  SignalWaiter& operator=(const SignalWaiter&) = delete;

  // Sleeps until a signal arrives and returns its number, or nothing after Stop. One thread at a
  // time.
  std::optional<int> Wait();

  // Waits at most timeout_ms; nothing when no signal came.
  std::optional<int> WaitFor(int timeout_ms);

  // Readable when a signal waits: for programs that poll several descriptors. Then call WaitFor(0).
  int fd() const { return signal_fd_; }

  // Makes Wait return nothing, now and later. Any thread.
  void Stop();

 private:
  int signal_fd_ = -1;
  int stop_fd_ = -1;
  std::atomic<bool> stopped_ = false;
};

}  // namespace eidolon::runtime
