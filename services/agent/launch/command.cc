// The agent has threads, so the child may do almost nothing between fork and exec: program,
// arguments and environment are prepared before. A failure of exec comes back as an errno over a
// pipe that closes on exec, and an empty pipe means success. A job may leave processes anywhere
// (another session, forked twice). The agent adopts orphans, so all of them stay below it, and
// everything below that is not in the agent's own session belongs to the job. Stop repeats until
// none is left, because a process may start another one while it is being ended.
#include "services/agent/launch/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "services/agent/launch/line_reader.h"
#include "services/base/clock.h"
#include "services/base/text.h"
#include "services/runtime/process/confinement.h"
#include "services/runtime/process/descriptors.h"
#include "services/runtime/process/process_tree.h"

namespace eidolon::agent::launch {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr int kOutputPollMs = 10;

// As the kernel takes it (sched_setattr(2)); glibc has no name for it before 2.41.
struct SchedulingAttributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime_ns, deadline_ns, period_ns;
};
constexpr std::uint64_t kLongestSliceNs = 100'000'000;

// Ranks share the cores of this machine. Each time one takes over, it finds the caches full of
// others' data, and its work takes up to three times as long for a while: the fewer changes, the
// quicker the run and the truer what is measured. Inherited by all that the command starts. Nothing
// depends on it: an older kernel (slices can be asked for since Linux 6.12) keeps its own.
void AskForLongSlices() {
  SchedulingAttributes wanted{};
  wanted.size = sizeof(wanted);
  wanted.policy = SCHED_BATCH;
  wanted.nice = getpriority(PRIO_PROCESS, 0);
  wanted.runtime_ns = kLongestSliceNs;
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

// Owns both ends until they are closed or taken.
class Pipe {
 public:
  Pipe() = default;
  ~Pipe() {
    CloseReadEnd();
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  base::Result<void> Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return base::Fail(ErrorCode::kInternal, StrCat("cannot make a pipe: ", strerror(errno)));
    }
    read_end_ = ends[0];
    write_end_ = ends[1];
    return {};
  }
  int read_end() const { return read_end_; }
  int write_end() const { return write_end_; }
  int TakeReadEnd() { return std::exchange(read_end_, -1); }
  void CloseReadEnd() { Close(&read_end_); }
  void CloseWriteEnd() { Close(&write_end_); }

 private:
  static void Close(int* end) {
    if (*end >= 0) close(std::exchange(*end, -1));
  }

  int read_end_ = -1;
  int write_end_ = -1;
};

std::vector<std::string> MergedEnvironment(const Variables& added) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : added) merged[name] = value;
  std::vector<std::string> entries;
  for (const auto& [name, value] : merged) entries.push_back(StrCat(name, "=", value));
  return entries;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// PATH of the command's own environment decides where it is found.
std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

base::Result<std::string> FindIn(const std::string& name, const std::string& path,
                                 const std::string& folder) {
  if (name.find('/') != std::string::npos) {
    const std::string full = name[0] == '/' || folder.empty() ? name : StrCat(folder, "/", name);
    if (access(full.c_str(), X_OK) == 0) return full;
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("command '", name, "' cannot be run: ", strerror(errno)));
  }
  for (const std::string_view entry : base::Split(path, ':')) {
    std::string full = StrCat(entry.empty() ? "." : entry, "/", name);
    if (access(full.c_str(), X_OK) == 0) return full;
  }
  return base::Fail(ErrorCode::kNotFound,
                    StrCat("command '", name, "' was not found in PATH (", path, ")"));
}

// Runs in the child and never returns. A failure is written to `failure` as an errno.
[[noreturn]] void Become(const char* program, char** arguments, char** environment,
                         const char* folder, int out, int err, int failure) {
  setsid();
  // The agent's death is the command's.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  AskForLongSlices();
  // Memory that runs short is the ranks' doing, not the agent's or the server's.
  process::SacrificeFirst();
  process::RenounceNewPrivileges();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Descriptors that are open here are not the command's, whatever opened them.
  process::CloseOnExecFrom(STDERR_FILENO + 1);
  if (folder[0] == '\0' || chdir(folder) == 0) execve(program, arguments, environment);
  const int error = errno;
  [[maybe_unused]] const auto written = write(failure, &error, sizeof error);
  _exit(127);
}

ExitStatus StatusOf(const siginfo_t& information) {
  if (information.si_code == CLD_EXITED) return {.code = information.si_status, .signal = 0};
  return {.code = 128 + information.si_status, .signal = information.si_status};
}

}  // namespace

std::string ExitStatus::Text() const {
  if (signal == 0) return StrCat("exit status ", code);
  const char* name = sigabbrev_np(signal);
  return StrCat("killed by signal ", signal, name != nullptr ? StrCat(" (SIG", name, ")") : "");
}

base::Result<std::string> FindProgram(const CommandOptions& options) {
  if (options.command.empty()) {
    return base::Fail(ErrorCode::kInvalidArgument, "the job has no command");
  }
  return FindIn(options.command[0], PathOf(MergedEnvironment(options.environment)),
                options.working_directory);
}

base::Result<std::unique_ptr<Command>> Command::Start(const CommandOptions& options,
                                                      CommandObserver* observer) {
  std::vector<std::string> environment = MergedEnvironment(options.environment);
  std::vector<std::string> arguments = options.command;
  const auto program = FindProgram(options);
  if (!program) return std::unexpected(program.error());
  Pipe out, err, failure;
  for (Pipe* pipe : {&out, &err, &failure}) {
    if (const auto opened = pipe->Open(); !opened) return std::unexpected(opened.error());
  }
  process::AdoptOrphans();
  const auto argument_pointers = Pointers(arguments);
  const auto environment_pointers = Pointers(environment);
  const pid_t pid = fork();
  if (pid == 0) {
    Become(program->c_str(), const_cast<char**>(argument_pointers.data()),
           const_cast<char**>(environment_pointers.data()), options.working_directory.c_str(),
           out.write_end(), err.write_end(), failure.write_end());
  }
  const int fork_error = errno;
  for (Pipe* pipe : {&out, &err, &failure}) pipe->CloseWriteEnd();
  int error = pid < 0 ? fork_error : 0;
  if (pid > 0 && read(failure.read_end(), &error, sizeof error) > 0) waitpid(pid, nullptr, 0);
  // Closed before pidfd_open, which needs a descriptor.
  failure.CloseReadEnd();
  if (error != 0) {
    return base::Fail(ErrorCode::kFailedPrecondition,
                      StrCat("command '", *program, "' cannot be started in '",
                             options.working_directory, "': ", strerror(error)));
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  return std::unique_ptr<Command>(
      new Command(pid, pidfd, out.TakeReadEnd(), err.TakeReadEnd(), observer));
}

Command::Command(pid_t pid, int pidfd, int out, int err, CommandObserver* observer)
    : pid_(pid), pidfd_(pidfd), out_(out), err_(err), observer_(observer) {
  reader_ = std::thread([this] { Read(); });
}

Command::~Command() {
  Stop(0);
  close(pidfd_);
}

// The reader's thread: lines until the command has ended and what it had written by then is read.
// Output of processes that outlive it is read as long as it comes at once.
void Command::Read() {
  LineReader lines[2] = {LineReader(out_), LineReader(err_)};
  const OutputStream streams[2] = {OutputStream::kStdout, OutputStream::kStderr};
  bool ended = false;
  while (true) {
    pollfd waiting[3] = {{.fd = lines[0].descriptor(), .events = POLLIN, .revents = 0},
                         {.fd = lines[1].descriptor(), .events = POLLIN, .revents = 0},
                         {.fd = ended ? -1 : pidfd_, .events = POLLIN, .revents = 0}};
    const int ready = poll(waiting, 3, ended ? kOutputPollMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) break;
    for (int i = 0; i < 2; ++i) {
      if (waiting[i].revents == 0) continue;
      for (std::string& line : lines[i].Read()) observer_->Line(streams[i], std::move(line));
    }
    if (waiting[2].revents != 0) ended = true;
    if (ended && lines[0].descriptor() < 0 && lines[1].descriptor() < 0) break;
  }
  for (int i = 0; i < 2; ++i) {
    if (auto rest = lines[i].TakeRest()) observer_->Line(streams[i], std::move(*rest));
    lines[i].Close();
  }
  siginfo_t information{};
  waitid(P_PIDFD, static_cast<id_t>(pidfd_), &information, WEXITED);
  exited_.store(true);
  observer_->Exited(StatusOf(information));
  has_read_all_.store(true);
}

// The command began a session of its own, so nothing that stems from it is in ours.
std::vector<pid_t> Command::Offspring() {
  std::vector<pid_t> found = process::DescendantsOf(getpid());
  std::erase_if(found, [own = getsid(0)](pid_t process) { return getsid(process) == own; });
  return found;
}

bool Command::AnyLeft() const {
  const std::vector<pid_t> left = Offspring();
  return std::any_of(left.begin(), left.end(),
                     [](pid_t left_over) { return !process::NameOf(left_over).empty(); });
}

void Command::ReapOrphans() const {
  for (const pid_t process : Offspring()) {
    // The command itself is the reader's to reap.
    if (process != pid_) waitpid(process, nullptr, WNOHANG);
  }
}

void Command::SignalAll(int signal) const {
  for (const pid_t process : Offspring()) kill(process, signal);
}

void Command::AwaitOutput(int limit_ms, const Meanwhile& meanwhile) const {
  const auto is_empty = [](int pipe_end) {
    int bytes = 0;
    return ioctl(pipe_end, FIONREAD, &bytes) != 0 || bytes == 0;
  };
  const base::SystemClock clock;
  const std::int64_t end_ns = clock.MonotonicNs() + std::int64_t{limit_ms} * 1'000'000;
  int quiet_ms = 0;
  while (quiet_ms < kOutputPollMs && clock.MonotonicNs() < end_ns) {
    quiet_ms = is_empty(out_) && is_empty(err_) ? quiet_ms + 1 : 0;
    if (meanwhile) meanwhile();
    poll(nullptr, 0, 1);
  }
}

void Command::Stop(int grace_ms, const Meanwhile& meanwhile) {
  const base::SystemClock clock;
  const std::int64_t kill_at = clock.MonotonicNs() + std::int64_t{grace_ms} * 1'000'000;
  if (grace_ms > 0) SignalAll(SIGTERM);
  while (AnyLeft()) {
    if (clock.MonotonicNs() >= kill_at) SignalAll(SIGKILL);
    ReapOrphans();
    if (meanwhile) meanwhile();
    if (!AnyLeft()) break;
    poll(nullptr, 0, kOutputPollMs);
  }
  while (!has_read_all_.load()) {
    if (meanwhile) meanwhile();
    poll(nullptr, 0, 1);
  }
  if (reader_.joinable()) reader_.join();
}

}  // namespace eidolon::agent::launch
