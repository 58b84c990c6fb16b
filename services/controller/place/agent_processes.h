// Child processes of this program: started, watched, ended. One thread does all of it, because the
// kernel ties "end me when my parent dies" to the thread that forked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::place {

struct ProcessStart {
  std::string program;  // A path; PATH is not searched.
  std::string working_directory;
  // Added to this program's own environment.
  std::vector<std::pair<std::string, std::string>> environment;
  std::string output_path;  // Where stdout and stderr go.
  // Values in place of this program's own: the file mode mask, the soft limit of open files.
  std::optional<mode_t> umask = std::nullopt;
  std::optional<std::uint64_t> open_files = std::nullopt;
};

// Owns its children and all that they start: the destructor kills those that are left and waits for
// them, and what a child leaves when it ends is killed too, however far it went (this program
// becomes the reaper of orphans). Thread safe. Each child leads a session of its own and gets
// SIGTERM when this program dies.
class AgentProcesses {
 public:
  // Receives how a child ended, as a half sentence.
  using OnExit = std::function<void(const std::string& how)>;

  AgentProcesses();
  ~AgentProcesses();
  AgentProcesses(const AgentProcesses&) = delete;
  AgentProcesses& operator=(const AgentProcesses&) = delete;

  // `on_exit` is called once, from the watching thread. Returns the process number.
  base::Result<int> Start(const ProcessStart& start, OnExit on_exit);
  // Sends a signal to a child and its process group, when it is still there.
  void Signal(int process, int signal);

 private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

// Kills every process of this user whose environment names `run_directory` or a folder below it:
// ranks by EIDOLON_RUN_DIR, agents and their guardians by EIDOLON_RUN_FOLDERS. What these have
// started ends with them, whatever its environment is. Returns the number of processes killed.
int KillProcessesOfRun(const std::string& run_directory);

// Kills every rank of this user whose run was below `root`, has no folder any more, and has neither
// agent nor guardian above the rank: what a server leaves that is killed while it ends such a run.
// Children of an orphan are orphans too. Returns the number of processes killed.
int KillOrphanRanks(const std::string& root);

}  // namespace eidolon::controller::place
