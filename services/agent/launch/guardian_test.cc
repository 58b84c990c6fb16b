#include "services/agent/launch/guardian.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "services/runtime/process/process_tree.h"

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

// Fixture in which the processes of a test meet.
class GuardianTest : public ::testing::Test {
 protected:
  ~GuardianTest() override {
    process::EndAll([] { return process::DescendantsOf(getpid()); });
    fs::remove_all(folder_);
  }

  // A process that is guarded from then on and does `agent`.
  pid_t StartGuarded(const std::function<void()>& agent, const GuardOptions& options = {}) {
    const pid_t child = fork();
    if (child != 0) return child;
    BecomeGuarded(options);
    agent();
    _exit(0);
  }
  void Tell(const std::string& name, pid_t number) const {
    std::ofstream(folder_ / (name + ".part")) << number;
    fs::rename(folder_ / (name + ".part"), folder_ / name);
  }
  // Forks twice and leaves its session; nothing of it tells whose it was.
  void StartDaemon() const {
    if (fork() != 0) return;
    setsid();
    if (fork() != 0) _exit(0);
    Tell("daemon", getpid());
    char name[] = "sleep", time[] = "1000";
    char* arguments[] = {name, time, nullptr};
    char* environment[] = {nullptr};
    execve("/bin/sleep", arguments, environment);
    _exit(1);
  }
  bool Wait(const std::function<bool()>& holds) const {
    for (int look = 0; look < 6000; ++look) {
      if (holds()) return true;
      poll(nullptr, 0, 10);
    }
    return false;
  }
  pid_t NumberOf(const std::string& name) const {
    EXPECT_TRUE(Wait([&] { return fs::exists(folder_ / name); })) << name;
    pid_t number = 0;
    std::ifstream(folder_ / name) >> number;
    return number;
  }
  // Zombies of somebody else have ended too.
  static bool IsGone(pid_t number) {
    std::ifstream file("/proc/" + std::to_string(number) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.empty() || text.find(") Z ") != std::string::npos;
  }
  static fs::path MakeFolder() {
    char path[] = "/tmp/eidolon-guard-XXXXXX";
    return mkdtemp(path);
  }

  const fs::path folder_ = MakeFolder();
};

TEST_F(GuardianTest, EndsAsTheAgentDid) {
  const pid_t well = StartGuarded([] { _exit(7); });
  int status = 0;
  waitpid(well, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);

  const pid_t killed = StartGuarded([] { raise(SIGKILL); });
  waitpid(killed, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(GuardianTest, ADaemonWithoutEnvironmentEndsWithAnAgentThatIsKilled) {
  const pid_t guardian = StartGuarded([&] {
    process::AdoptOrphans();
    StartDaemon();
    Tell("agent", getpid());
    while (true) pause();
  });
  const pid_t daemon = NumberOf("daemon");

  kill(NumberOf("agent"), SIGKILL);
  waitpid(guardian, nullptr, 0);

  EXPECT_TRUE(IsGone(daemon));
}

TEST_F(GuardianTest, SigtermReachesTheAgentOnly) {
  const pid_t guardian = StartGuarded([&] {
    signal(SIGTERM, [](int) { _exit(3); });
    Tell("agent", getpid());
    while (true) pause();
  });
  NumberOf("agent");

  kill(guardian, SIGTERM);

  int status = 0;
  waitpid(guardian, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(GuardianTest, WithoutTheControllerEverythingEndsAndTheFoldersGo) {
  const fs::path run = folder_ / "run";
  fs::create_directories(run / "s0");
  const pid_t controller = fork();
  if (controller == 0) {
    const auto agent = [&] {
      signal(SIGTERM, SIG_IGN);  // It hangs.
      process::AdoptOrphans();
      StartDaemon();
      Tell("agent", getpid());
      while (true) pause();
    };
    Tell("guardian", StartGuarded(agent, {.folders = {run.string()}, .grace_ms = 100}));
    while (true) pause();
  }
  const pid_t agent = NumberOf("agent"), daemon = NumberOf("daemon");
  const pid_t guardian = NumberOf("guardian");

  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);

  EXPECT_TRUE(Wait([&] { return IsGone(guardian); }));
  EXPECT_TRUE(IsGone(agent));
  EXPECT_TRUE(IsGone(daemon));
  EXPECT_FALSE(fs::exists(run));
}

TEST_F(GuardianTest, AStoppedGuardianWithoutAControllerGoesOnWhenItsAgentEnds) {
  const fs::path run = folder_ / "run";
  fs::create_directories(run);
  const pid_t controller = fork();
  if (controller == 0) {
    const pid_t guarded = fork();
    if (guarded == 0) {
      const Guarded self = BecomeGuarded({.folders = {run.string()}});
      Tell("agent", getpid());
      Wait([&] { return fs::exists(folder_ / "end"); });
      ResumeGuardianOfDeadController(self);
      _exit(0);
    }
    Tell("guardian", guarded);
    while (true) pause();
  }
  NumberOf("agent");
  const pid_t guardian = NumberOf("guardian");
  kill(guardian, SIGSTOP);
  ASSERT_TRUE(Wait([&] { return !process::DescribeStopped(guardian).empty(); }));
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);

  Tell("end", 1);

  EXPECT_TRUE(Wait([&] { return IsGone(guardian); }));
  EXPECT_FALSE(fs::exists(run));
}

}  // namespace
}  // namespace eidolon::agent::launch
