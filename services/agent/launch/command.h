// The user's command on one emulated server: started in a session of its own, its output read line
// by line, its end reported, and nothing left of it afterwards.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "services/agent/launch/environment.h"
#include "services/base/error.h"

namespace eidolon::agent::launch {

enum class OutputStream : std::uint8_t { kStdout = 1, kStderr = 2 };

// End of a process, as a user understands it.
struct ExitStatus {
  int code = 0;    // As a shell shows it: 128 + signal when killed.
  int signal = 0;  // 0: ended by itself.

  bool ok() const { return code == 0; }
  // "exit status 1", "killed by signal 9 (SIGKILL)".
  std::string Text() const;
};

// Calls come from the command's own thread, one at a time. Exited is the last.
class CommandObserver {
 public:
  virtual ~CommandObserver() = default;
  // A line without its newline; at most 64 KiB, longer ones come in parts.
  virtual void Line(OutputStream stream, std::string text) = 0;
  virtual void Exited(ExitStatus status) = 0;
};

struct CommandOptions {
  std::vector<std::string> command;  // Not empty; command[0] is looked up in PATH.
  Variables environment;             // Replaces variables of the same name; the rest is inherited.
  std::string working_directory;     // Empty: this process's.
};

// Returns where the command's program lies: by its own PATH, or from its working directory. Fails
// naming it.
base::Result<std::string> FindProgram(const CommandOptions& options);

// Threads: Start, Stop and the destructor from one thread.
class Command {
 public:
  // Fails when the program cannot be started (not found, not executable, no such folder), naming
  // it. `observer` outlives the command. This process becomes the reaper of orphans.
  static base::Result<std::unique_ptr<Command>> Start(const CommandOptions& options,
                                                      CommandObserver* observer);
  // Ends everything that is left, at once.
  ~Command();

  pid_t pid() const { return pid_; }

  // AwaitOutput and Stop call this repeatedly while they wait. An observer whose Line blocks until
  // lines are taken from it must take them here, or the reader never ends.
  using Meanwhile = std::function<void()>;
  // Waits until all that it has written was read, or `limit_ms` are over.
  void AwaitOutput(int limit_ms, const Meanwhile& meanwhile = {}) const;
  // Asks the command and all it started to end (SIGTERM), and after `grace_ms` makes them
  // (SIGKILL). Returns when nothing of it is left. Exited is called if it was not yet.
  void Stop(int grace_ms, const Meanwhile& meanwhile = {});

 private:
  Command(pid_t pid, int pidfd, int out, int err, CommandObserver* observer);
  void Read();
  static std::vector<pid_t> Offspring();
  void ReapOrphans() const;
  bool AnyLeft() const;
  void SignalAll(int signal) const;

  const pid_t pid_;
  const int pidfd_;
  const int out_, err_;
  CommandObserver* const observer_;
  std::atomic<bool> exited_{false};
  std::atomic<bool> has_read_all_{false};
  std::thread reader_;
};

}  // namespace eidolon::agent::launch
