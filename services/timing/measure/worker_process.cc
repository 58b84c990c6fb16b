// The child has a process group of its own, which the destructor kills, so that whatever the worker
// has started ends too. PR_SET_PDEATHSIG ends it when the thread that forked it ends, so that no
// worker keeps a GPU after a crash of the service. Between fork and exec only calls are made that
// are safe in a process whose other threads are gone. A child that ends before it connects is
// noticed by looking at it every 50 ms, since the listening socket alone would wait for the whole
// deadline. waitid leaves it uncollected, because its number must not be given to another process
// before it is killed.
#include "services/timing/measure/worker_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/clock.h"
#include "services/base/text.h"

namespace eidolon::timing::measure {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::int64_t kLookMs = 50;  // How often a starting process is looked at.
constexpr int kNoProgram = 127;

std::int64_t Now() { return base::SystemClock().MonotonicNs(); }
std::int64_t After(std::int64_t limit_ms) { return Now() + limit_ms * 1'000'000; }

// Requires: arguments end with a null pointer. Only calls what is safe between fork and exec.
pid_t Spawn(char* const* arguments) {
  const pid_t child = fork();
  if (child != 0) return child;
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(arguments[0], arguments);
  _exit(kNoProgram);
}

// Nothing while it runs; else how it ended. Leaves it to be collected.
std::string EndOf(pid_t pid) {
  siginfo_t information{};
  if (waitid(P_PID, static_cast<id_t>(pid), &information, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      information.si_pid == 0) {
    return "";
  }
  if (information.si_code == CLD_EXITED) return StrCat("exit status ", information.si_status);
  return StrCat("signal ", information.si_status);
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const Options& options) {
  auto listener = Listener::At(options.socket);
  if (!listener) return std::unexpected(listener.error());
  std::vector<std::string> words = options.command;
  words.insert(words.end(), {"--channel", options.socket});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = Spawn(arguments.data());
  if (pid < 0) {
    return base::Fail(ErrorCode::kInternal, StrCat("starting a process: ", std::strerror(errno)));
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(pid, options.abandoned));
  const std::int64_t deadline_ns = After(options.start_limit_ms);
  if (auto connected = worker->Connect(*listener, words.front(), deadline_ns); !connected) {
    return std::unexpected(connected.error());
  }
  auto hello = worker->ReceiveUntil(deadline_ns);
  if (!hello) return base::Wrap(StrCat("the hello of '", words.front(), "'"), hello.error());
  worker->hello_ = std::move(*hello);
  return worker;
}

Result<void> WorkerProcess::Connect(Listener& listener, const std::string& program,
                                    std::int64_t deadline_ns) {
  while (true) {
    auto channel = listener.Accept(kLookMs);
    if (channel) {
      channel_ = std::move(*channel);
      return {};
    }
    if (channel.error().code != ErrorCode::kResourceExhausted) {
      return std::unexpected(channel.error());
    }
    if (const std::string end = EndOf(pid_); !end.empty()) {
      return base::Fail(ErrorCode::kUnavailable, StrCat("'", program, "' ended with ", end));
    }
    if (IsAbandoned() || Now() >= deadline_ns) {
      return base::Fail(ErrorCode::kResourceExhausted,
                        StrCat("'", program, "' did not connect in time"));
    }
  }
}

WorkerProcess::~WorkerProcess() {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // Before it had a group of its own.
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<std::string> WorkerProcess::Receive(std::int64_t limit_ms) {
  return ReceiveUntil(After(limit_ms));
}

Result<std::string> WorkerProcess::ReceiveUntil(std::int64_t deadline_ns) {
  while (true) {
    const auto ready = channel_.Wait(kLookMs);
    if (ready) break;
    if (ready.error().code != ErrorCode::kResourceExhausted || Now() >= deadline_ns) {
      return std::unexpected(ready.error());
    }
    if (IsAbandoned()) return base::Fail(ErrorCode::kUnavailable, "nobody waits any more");
  }
  return channel_.Receive(std::max<std::int64_t>((deadline_ns - Now()) / 1'000'000, 1));
}

}  // namespace eidolon::timing::measure
