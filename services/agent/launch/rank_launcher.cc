// This runs as a process of its own and not as a thread of the agent, because it may stand below
// another launcher (accelerate), which expects a command that ends with a status. So everything
// that it needs comes as arguments, and LaunchArguments and ReadLaunch must stay each other's
// inverse. Ranks die with it (a death signal, checked against a parent that is already gone). As
// with torchrun, the first failure ends the others, and its status is that of the whole.
#include "services/agent/launch/rank_launcher.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "services/agent/launch/rank_variables.h"
#include "services/base/clock.h"
#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::StrCat;

constexpr std::string_view kCommandFollows = "--";
constexpr std::string_view kLocalRank = "{LOCAL_RANK}";
constexpr int kExitPollMs = 20;
// Grace as torchrun's, which gives ranks 30 s; ours have nothing to wait for in a network.
constexpr std::int64_t kGraceNs = 10'000'000'000;
constexpr int kUsageStatus = 2;
constexpr int kNotExecutable = 127;

std::vector<std::uint32_t> Numbers(const std::string& text) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view word : base::Split(text, ',')) {
    const auto number = base::ParseInteger(word);
    if (number.has_value()) numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  return numbers;
}

std::optional<RankLaunch> ReadLaunch(const std::vector<std::string>& arguments) {
  constexpr std::size_t kFixed = 5;
  const auto divide = std::find(arguments.begin(), arguments.end(), kCommandFollows);
  if (divide - arguments.begin() < static_cast<std::ptrdiff_t>(kFixed)) return std::nullopt;
  if (arguments.end() - divide < 2) return std::nullopt;
  const auto ranks = base::ParseInteger(arguments[0]);
  const auto per_server = base::ParseInteger(arguments[1]);
  const auto style = RankVariablesOf(arguments[3]);
  if (!ranks || !per_server || !style) return std::nullopt;
  RankLaunch launch = {.ranks = static_cast<std::uint32_t>(*ranks),
                       .ranks_per_server = static_cast<std::uint32_t>(*per_server),
                       .live = Numbers(arguments[2]),
                       .style = *style,
                       .preload = arguments[4],
                       .command = {divide + 1, arguments.end()}};
  if (launch.live.empty() || launch.ranks_per_server == 0) return std::nullopt;
  for (auto at = arguments.begin() + kFixed; at != divide; ++at) {
    const std::size_t equals = at->find('=');
    if (equals == std::string::npos) return std::nullopt;
    launch.environment.emplace_back(at->substr(0, equals), at->substr(equals + 1));
  }
  return launch;
}

[[noreturn]] void Become(const RankLaunch& launch, std::uint32_t rank, pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) _exit(kNotExecutable);
  const bool own_threads = getenv("OMP_NUM_THREADS") == nullptr;
  for (const auto& [name, value] : EnvironmentOf(launch, rank, own_threads)) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<std::string> words = launch.command;
  for (std::string& word : words) {
    if (!word.ends_with(kLocalRank)) continue;
    word.resize(word.size() - kLocalRank.size());
    word += std::to_string(rank % launch.ranks_per_server);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  fprintf(stderr, "eidolon: rank %u cannot run '%s': %s\n", rank, arguments[0], strerror(errno));
  _exit(kNotExecutable);
}

int StatusOf(int waited) {
  return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

// The processes of ranks, until they are gone.
class Ranks {
 public:
  void Add(pid_t process, std::uint32_t rank) { running_[process] = rank; }
  bool empty() const { return running_.empty(); }

  // Reaps who has ended; the first failure ends the others.
  void Reap(std::int64_t now_ns) {
    int waited = 0;
    for (pid_t gone = 0; (gone = waitpid(-1, &waited, WNOHANG)) > 0;) {
      const auto found = running_.find(gone);
      if (found == running_.end()) continue;
      const std::uint32_t rank = found->second;
      running_.erase(found);
      if (StatusOf(waited) == 0 || status_ != 0) continue;
      status_ = StatusOf(waited);
      fprintf(stderr, "eidolon: rank %u ended with status %d\n", rank, status_);
      End(now_ns);
    }
  }

  // Asks each rank once. Requires: no rank is added afterwards.
  void End(std::int64_t now_ns) {
    if (kill_ns_ != 0) return;
    kill_ns_ = now_ns + kGraceNs;
    SignalAll(SIGTERM);
  }
  void KillLate(std::int64_t now_ns) {
    if (kill_ns_ != 0 && now_ns >= kill_ns_) SignalAll(SIGKILL);
  }
  int status() const { return status_; }

 private:
  void SignalAll(int signal) {
    for (const auto& [process, rank] : running_) kill(process, signal);
  }

  std::map<pid_t, std::uint32_t> running_;
  std::int64_t kill_ns_ = 0;
  int status_ = 0;
};

// Forks with SIGTERM blocked: a signal that reaches the child before it has the default action back
// stays pending and ends it then. The launcher's handler would only set a flag in the child.
pid_t ForkRank() {
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, &before);
  const pid_t process = fork();
  const int error = errno;
  if (process == 0) signal(SIGTERM, SIG_DFL);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return process;
}

}  // namespace

Variables EnvironmentOf(const RankLaunch& launch, std::uint32_t rank, bool own_threads) {
  Variables variables = launch.environment;
  variables.emplace_back("LD_PRELOAD", launch.preload);
  const RankPlace place = {
      .rank = rank, .ranks = launch.ranks, .ranks_per_server = launch.ranks_per_server};
  for (auto& variable : RankEnvironment(place, launch.style)) {
    variables.push_back(std::move(variable));
  }
  if (own_threads && launch.ranks_per_server > 1) variables.emplace_back("OMP_NUM_THREADS", "1");
  return variables;
}

std::vector<std::string> LaunchArguments(const RankLaunch& launch) {
  std::string live;
  for (const std::uint32_t rank : launch.live) live += StrCat(live.empty() ? "" : ",", rank);
  std::vector<std::string> arguments = {StrCat(launch.ranks), StrCat(launch.ranks_per_server), live,
                                        std::string(Name(launch.style)), launch.preload};
  for (const auto& [name, value] : launch.environment) {
    arguments.push_back(StrCat(name, "=", value));
  }
  arguments.emplace_back(kCommandFollows);
  arguments.insert(arguments.end(), launch.command.begin(), launch.command.end());
  return arguments;
}

int RunRanks(const std::vector<std::string>& arguments) {
  const std::optional<RankLaunch> read = ReadLaunch(arguments);
  if (!read) {
    fprintf(stderr,
            "eidolon: start-ranks needs RANKS RANKS_PER_SERVER LIVE STYLE PRELOAD [NAME=VALUE...] "
            "-- COMMAND...\n");
    return kUsageStatus;
  }
  const RankLaunch& launch = *read;
  static std::atomic<bool> asked_to_end;
  asked_to_end = false;
  signal(SIGTERM, [](int) { asked_to_end = true; });
  const base::SystemClock clock;
  const pid_t launcher = getpid();
  Ranks running;
  for (const std::uint32_t rank : launch.live) {
    const pid_t process = ForkRank();
    if (process == 0) Become(launch, rank, launcher);
    if (process < 0) {
      fprintf(stderr, "eidolon: rank %u cannot be started: %s\n", rank, strerror(errno));
      running.End(clock.MonotonicNs());
      break;
    }
    running.Add(process, rank);
  }
  while (!running.empty()) {
    poll(nullptr, 0, kExitPollMs);
    const std::int64_t now_ns = clock.MonotonicNs();
    running.Reap(now_ns);
    if (asked_to_end) running.End(now_ns);
    running.KillLate(now_ns);
  }
  return running.status();
}

}  // namespace eidolon::agent::launch
