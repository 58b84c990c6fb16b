// The guardian must work when the agent is dead and the machine is short of everything, so it is a
// single thread that waits for signals. They are blocked before fork, or a child that ends at once
// would go unnoticed. The death of the controller has no signal here: the guardian looks at its
// parent's number a few times a second. The new process checks its parent once after it has asked
// for a death signal, because the guardian may have died before. The guardian ends with the agent's
// own status, so its parent sees the agent's end.
#include "services/agent/launch/guardian.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "services/base/clock.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/runtime/process/process_tree.h"

namespace eidolon::agent::launch {
namespace {

constexpr timespec kLookAgain{.tv_sec = 0, .tv_nsec = 200'000'000};

sigset_t WatchedSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&watched, signal);
  return watched;
}

// Collects whoever has ended. The agent's status, once it is among them.
std::optional<int> Collect(pid_t agent) {
  std::optional<int> end;
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == agent) end = status;
  }
  return end;
}

// Watches until the agent has ended. Returns its status.
int Watch(pid_t agent, pid_t controller, int grace_ms) {
  const base::SystemClock clock;
  const sigset_t watched = WatchedSignals();
  std::optional<std::int64_t> kill_at_ns;
  while (true) {
    const int signal = sigtimedwait(&watched, nullptr, &kLookAgain);
    if (signal == SIGTERM || signal == SIGINT) kill(agent, SIGTERM);
    if (const auto end = Collect(agent)) return *end;
    if (getppid() == controller) continue;
    // Nobody is left who would give a sterner order.
    if (!kill_at_ns) {
      kill(agent, SIGTERM);
      kill_at_ns = clock.MonotonicNs() + std::int64_t{grace_ms} * 1'000'000;
    }
    if (clock.MonotonicNs() > *kill_at_ns) kill(agent, SIGKILL);
  }
}

[[noreturn]] void EndAs(int status) {
  if (!WIFSIGNALED(status)) std::exit(WEXITSTATUS(status));
  prctl(PR_SET_DUMPABLE, 0);  // The agent has left what there is to see.
  signal(WTERMSIG(status), SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  raise(WTERMSIG(status));
  std::exit(128 + WTERMSIG(status));
}

}  // namespace

Guarded BecomeGuarded(const GuardOptions& options) {
  const pid_t controller = getppid();
  const pid_t guardian = getpid();
  process::AdoptOrphans();
  const sigset_t watched = WatchedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t agent = fork();
  if (agent < 0) {
    base::Log(base::Level::kWarning, "no_guardian", {{"reason", "the process cannot be forked"}});
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return {};
  }
  if (agent == 0) {
    // Of a group of its own: who ends the guardian and its group at once leaves it to end in order.
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guardian) _exit(1);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return {.guardian = guardian, .controller = controller};
  }
  prctl(PR_SET_NAME, "eidolon-guard");
  const int status = Watch(agent, controller, options.grace_ms);
  if (!process::EndAll([] { return process::DescendantsOf(getpid()); })) {
    base::Log(base::Level::kWarning, "processes_left",
              {{"reason", "they hang in the kernel and cannot be ended"}});
  }
  if (getppid() != controller) {
    std::error_code ignored;
    for (const std::string& folder : options.folders) {
      std::filesystem::remove_all(folder, ignored);
    }
  }
  EndAs(status);
}

void ResumeGuardianOfDeadController(const Guarded& self) {
  if (self.guardian == 0 || getppid() != self.guardian) return;
  const std::vector<pid_t> above = process::AncestorsOf(self.guardian);
  if (above.empty() || above.front() != self.controller) kill(self.guardian, SIGCONT);
}

}  // namespace eidolon::agent::launch
