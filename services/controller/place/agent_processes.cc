// PR_SET_PDEATHSIG fires when the thread ends that forked, not the process. One thread with the
// life of this object therefore forks, watches and reaps; Start waits for it and must not be called
// from on_exit, which runs on it. A process number is safe to signal only until its process is
// reaped, so signals go to entries of children_ under the lock, and an end is seen with WNOWAIT
// first: the process group is killed while the number still belongs to the child. Between fork and
// exec the child makes system calls only, as another thread may hold the allocator's lock. What a
// killed agent leaves becomes a child of this program (a subreaper) and is killed in EndOrphans.
#include "services/controller/place/agent_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "services/base/check.h"
#include "services/base/clock.h"
#include "services/base/text.h"
#include "services/runtime/process/descriptors.h"
#include "services/runtime/process/process_tree.h"

extern char** environ;

namespace eidolon::controller::place {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// A child that hangs, or that somebody stops, between fork and exec.
constexpr int kExecLimitMs = 10'000;
// A killed process that hangs in the kernel is left to it.
constexpr int kKillLimitMs = 10'000;

std::int64_t EndOf(int limit_ms) {
  return base::SystemClock().MonotonicNs() + std::int64_t{limit_ms} * 1'000'000;
}

// Waits for that until the monotonic time.
bool IsReadable(int file, std::int64_t until_ns) {
  pollfd waited = {file, POLLIN, 0};
  while (true) {
    const std::int64_t left_ns = until_ns - base::SystemClock().MonotonicNs();
    const int left_ms = static_cast<int>(std::max<std::int64_t>(0, left_ns / 1'000'000));
    const int ready = poll(&waited, 1, left_ms);
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

std::string DescribeEnd(int status) {
  if (WIFSIGNALED(status)) {
    return StrCat("was killed by signal ", WTERMSIG(status), " (", strsignal(WTERMSIG(status)),
                  ")");
  }
  return StrCat("ended with status ", WEXITSTATUS(status));
}

// "NAME=value" texts of our environment, those of `added` replaced.
std::vector<std::string> MakeEnvironment(
    const std::vector<std::pair<std::string, std::string>>& added) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    merged[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : added) merged[name] = value;
  std::vector<std::string> environment;
  for (const auto& [name, value] : merged) environment.push_back(name + "=" + value);
  return environment;
}

// Everything the child needs, made before the fork: between fork and exec nothing may allocate.
struct Prepared {
  explicit Prepared(const ProcessStart& start)
      : program(start.program),
        working_directory(start.working_directory),
        output_path(start.output_path),
        umask(start.umask),
        open_files(start.open_files),
        environment(MakeEnvironment(start.environment)) {
    for (std::string& entry : environment) environment_pointers.push_back(entry.data());
    environment_pointers.push_back(nullptr);
    arguments[0] = program.data();
  }

  std::string program;
  std::string working_directory;
  std::string output_path;
  std::optional<mode_t> umask;
  std::optional<std::uint64_t> open_files;
  std::vector<std::string> environment;
  std::vector<char*> environment_pointers;
  char* arguments[2] = {nullptr, nullptr};
};

// In the child; tells a failure as an errno through `error_fd`, which exec closes.
[[noreturn]] void Exec(const Prepared& prepared, pid_t parent, int error_fd) {
  const auto fail = [&] {
    const int error = errno;
    [[maybe_unused]] const auto written = write(error_fd, &error, sizeof error);
    _exit(127);
  };
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  process::CloseOnExecFrom(STDERR_FILENO + 1);
  if (chdir(prepared.working_directory.c_str()) != 0) fail();
  const int output = open(prepared.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int input = open("/dev/null", O_RDONLY);
  if (output < 0 || input < 0) fail();
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (prepared.umask) umask(*prepared.umask);
  if (prepared.open_files) {
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) fail();
    limit.rlim_cur = *prepared.open_files;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) fail();
  }
  execve(prepared.program.c_str(), prepared.arguments, prepared.environment_pointers.data());
  fail();
  _exit(127);
}

}  // namespace

class AgentProcesses::Watcher {
 public:
  Watcher() : wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { Run(); }) {
    CHECK(wake_fd_ >= 0);
    process::AdoptOrphans();
  }

  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
    close(wake_fd_);
  }

  Result<int> Start(const ProcessStart& start, OnExit on_exit) {
    std::promise<Result<int>> answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back({Prepared(start), std::move(on_exit), &answer});
    }
    Wake();
    return answer.get_future().get();
  }

  void Signal(int process, int signal) {
    const std::lock_guard lock(mutex_);
    // Only children that are not reaped yet: their numbers cannot have been given to others.
    if (!children_.contains(process)) return;
    if (signal == SIGKILL) return EndWithOffspring(process);
    kill(process, signal);
    kill(-process, signal);
  }

 private:
  struct Request {
    Prepared prepared;
    OnExit on_exit;
    std::promise<Result<int>>* answer;
  };
  struct Child {
    int pidfd;
    OnExit on_exit;
  };

  static void EndWithOffspring(int process) {
    for (const pid_t below : process::DescendantsOf(process)) kill(below, SIGKILL);
    kill(process, SIGKILL);
    kill(-process, SIGKILL);
  }

  // A child ends what it has started. Of one that was killed, all that is left has become a child
  // of this program; nobody else begins a session of its own here. Requires: the watching thread,
  // which alone starts children.
  void EndOrphans() {
    process::EndAll([this] {
      std::vector<pid_t> orphans = process::ChildrenOf(getpid());
      const std::lock_guard lock(mutex_);
      std::erase_if(orphans, [this, own = getsid(0)](pid_t child) {
        return children_.contains(child) || getsid(child) == own;
      });
      return orphans;
    });
  }

  void Wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_fd_, &one, sizeof one);
  }

  void Run() {
    while (true) {
      StartRequested();
      if (KillAllWhenStopping()) return;
      WaitForSomething();
      ReapEnded();
    }
  }

  void StartRequested() {
    std::vector<Request> requests;
    {
      const std::lock_guard lock(mutex_);
      requests.swap(requests_);
    }
    for (Request& request : requests) request.answer->set_value(Fork(request));
  }

  // The pipe shows what became of exec: it closes the pipe, which reads as its end, and a child
  // that fails writes its errno first.
  Result<int> Fork(Request& request) {
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
      return Fail(ErrorCode::kInternal, StrCat("starting ", request.prepared.program,
                                               ": no pipe: ", std::strerror(errno)));
    }
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) Exec(request.prepared, parent, pipe_fds[1]);
    const int fork_error = errno;
    close(pipe_fds[1]);
    int error = 0;
    bool failed = false;
    if (child > 0 && !IsReadable(pipe_fds[0], EndOf(kExecLimitMs))) {
      kill(child, SIGKILL);
      error = ETIMEDOUT;
      failed = true;
    } else if (child > 0) {
      failed = read(pipe_fds[0], &error, sizeof error) == sizeof error;
    }
    close(pipe_fds[0]);
    if (child < 0 || failed) {
      if (child > 0) waitpid(child, nullptr, 0);
      return Fail(ErrorCode::kInternal, StrCat("starting ", request.prepared.program, ": ",
                                               std::strerror(failed ? error : fork_error)));
    }
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    CHECK(pidfd >= 0);
    const std::lock_guard lock(mutex_);
    children_[child] = {pidfd, std::move(request.on_exit)};
    return child;
  }

  bool KillAllWhenStopping() {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_) return false;
      for (const auto& [process, child] : children_) EndWithOffspring(process);
      const std::int64_t until_ns = EndOf(kKillLimitMs);
      for (const auto& [process, child] : children_) {
        if (IsReadable(child.pidfd, until_ns)) waitpid(process, nullptr, 0);
        close(child.pidfd);
      }
      children_.clear();
    }
    EndOrphans();
    return true;
  }

  void WaitForSomething() {
    std::vector<pollfd> fds = {{wake_fd_, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [process, child] : children_) fds.push_back({child.pidfd, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = read(wake_fd_, &count, sizeof count);
  }

  void ReapEnded() {
    std::vector<std::pair<OnExit, std::string>> ended;
    {
      const std::lock_guard lock(mutex_);
      for (auto child = children_.begin(); child != children_.end();) {
        siginfo_t end{};
        waitid(P_PID, static_cast<id_t>(child->first), &end, WEXITED | WNOHANG | WNOWAIT);
        if (end.si_pid != child->first) {
          ++child;
          continue;
        }
        // The rest of its process group is killed while the number is still the child's.
        kill(-child->first, SIGKILL);
        int status = 0;
        waitpid(child->first, &status, 0);
        close(child->second.pidfd);
        ended.emplace_back(std::move(child->second.on_exit), DescribeEnd(status));
        child = children_.erase(child);
      }
    }
    if (!ended.empty()) EndOrphans();
    for (const auto& [on_exit, how] : ended) on_exit(how);
  }

  const int wake_fd_;
  std::mutex mutex_;  // Guards what follows.
  bool stopping_ = false;
  std::vector<Request> requests_;
  std::map<int, Child> children_;
  std::thread thread_;
};

AgentProcesses::AgentProcesses() : watcher_(std::make_unique<Watcher>()) {}
AgentProcesses::~AgentProcesses() = default;

Result<int> AgentProcesses::Start(const ProcessStart& start, OnExit on_exit) {
  return watcher_->Start(start, std::move(on_exit));
}

void AgentProcesses::Signal(int process, int signal) { watcher_->Signal(process, signal); }

namespace {

bool IsInFolder(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

constexpr std::string_view kRank = "EIDOLON_RUN_DIR=", kAgent = "EIDOLON_RUN_FOLDERS=";

// `environment` as in /proc/PID/environ. Agents and guardians name the folders of their run.
bool IsAgentOf(std::string_view environment, std::string_view run_directory) {
  for (const std::string_view variable : base::Split(environment, '\0')) {
    if (!variable.starts_with(kAgent)) continue;
    for (const std::string_view folder : base::Split(variable.substr(kAgent.size()), ':')) {
      if (IsInFolder(folder, run_directory)) return true;
    }
  }
  return false;
}

bool IsRankOf(std::string_view environment, std::string_view run_directory) {
  return std::ranges::any_of(base::Split(environment, '\0'), [&](std::string_view variable) {
    return variable.starts_with(kRank) && IsInFolder(variable.substr(kRank.size()), run_directory);
  });
}

// The environment of a process as it was started; empty where it cannot be read.
std::string EnvironmentOf(std::int64_t process) {
  std::ifstream file(StrCat("/proc/", process, "/environ"));
  std::stringstream environment;
  environment << file.rdbuf();
  return environment.str();
}

// All processes but this one.
std::vector<std::int64_t> OtherProcesses() {
  std::vector<std::int64_t> found;
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return found;
  while (const dirent* entry = readdir(processes)) {
    const auto process = base::ParseInteger(entry->d_name);
    if (process && *process != getpid()) found.push_back(*process);
  }
  closedir(processes);
  return found;
}

// The folder below `root` of the run that a rank with this environment belongs to; empty: of none.
std::string RunOfRank(std::string_view environment, const std::string& root) {
  for (const std::string_view variable : base::Split(environment, '\0')) {
    if (!variable.starts_with(kRank)) continue;
    const std::string_view path = variable.substr(kRank.size());
    if (!IsInFolder(path, root) || path.size() <= root.size() + 1) return "";
    return std::string(path.substr(0, path.find('/', root.size() + 1)));
  }
  return "";
}

// True if the run's folder is gone and no ancestor of this rank is an agent or guardian of the run.
bool IsOrphan(std::int64_t process, const std::string& run_directory) {
  if (access(run_directory.c_str(), F_OK) == 0 || errno != ENOENT) return false;
  const std::vector<pid_t> above = process::AncestorsOf(static_cast<pid_t>(process));
  return std::ranges::none_of(
      above, [&](pid_t ancestor) { return IsAgentOf(EnvironmentOf(ancestor), run_directory); });
}

}  // namespace

int KillProcessesOfRun(const std::string& run_directory) {
  // All are stopped before any is killed: the child of a killed process has another parent, so that
  // a child without an environment could not be found any more.
  std::set<pid_t> stopped;
  for (bool grows = true; grows;) {
    std::set<pid_t> found = stopped;
    for (const std::int64_t process : OtherProcesses()) {
      const std::string environment = EnvironmentOf(process);
      const bool is_of_run =
          IsRankOf(environment, run_directory) || IsAgentOf(environment, run_directory);
      if (is_of_run) found.insert(static_cast<pid_t>(process));
    }
    for (const pid_t process : std::set<pid_t>(found)) {
      for (const pid_t below : process::DescendantsOf(process)) found.insert(below);
    }
    found.erase(getpid());
    grows = false;
    for (const pid_t process : found) {
      if (!stopped.insert(process).second) continue;
      grows = kill(process, SIGSTOP) == 0 || grows;
    }
  }
  int count = 0;
  for (const pid_t process : stopped) {
    if (kill(process, SIGKILL) == 0) ++count;
  }
  return count;
}

int KillOrphanRanks(const std::string& root) {
  int count = 0;
  for (const std::int64_t process : OtherProcesses()) {
    const std::string run = RunOfRank(EnvironmentOf(process), root);
    if (run.empty() || !IsOrphan(process, run)) continue;
    if (kill(static_cast<pid_t>(process), SIGKILL) == 0) ++count;
  }
  return count;
}

}  // namespace eidolon::controller::place
