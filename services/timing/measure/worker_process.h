// The worker as a child process: started, spoken to, killed. What it does to itself (a kernel that
// faults, a hang, a lost GPU) stays in it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/timing/measure/channel.h"

namespace eidolon::timing::measure {

// Owns the process: the destructor kills it with its process group and collects it. One thread at a
// time; that thread must live as long as the process (the child dies with it).
class WorkerProcess {
 public:
  struct Options {
    // Program and arguments; "--channel <socket>" is appended.
    std::vector<std::string> command;
    std::string socket;               // Path for the channel; free.
    std::int64_t start_limit_ms = 0;  // Until the first message.
    // Once it is true nothing is waited for any more: kUnavailable. Outlives the process; may be
    // null.
    const std::atomic<bool>* abandoned = nullptr;
  };
  static base::Result<std::unique_ptr<WorkerProcess>> Start(const Options& options);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The first message it sent.
  const std::string& hello() const { return hello_; }
  // kUnavailable: the process is gone; kResourceExhausted: no message in time. The process is of no
  // use after either.
  base::Result<void> Send(std::string_view message) { return channel_.Send(message); }
  base::Result<std::string> Receive(std::int64_t limit_ms);

 private:
  WorkerProcess(pid_t pid, const std::atomic<bool>* abandoned) : pid_(pid), abandoned_(abandoned) {}
  base::Result<void> Connect(Listener& listener, const std::string& program,
                             std::int64_t deadline_ns);
  base::Result<std::string> ReceiveUntil(std::int64_t deadline_ns);
  bool IsAbandoned() const { return abandoned_ != nullptr && abandoned_->load(); }

  const pid_t pid_;
  const std::atomic<bool>* const abandoned_;
  Channel channel_;
  std::string hello_;
};

}  // namespace eidolon::timing::measure
