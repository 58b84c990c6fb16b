#include "services/controller/place/agent_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "services/runtime/process/process_tree.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::place {
namespace {

using ::testing::HasSubstr;

// A shell script as the program of an agent.
std::string Script(const testing::TemporaryDirectory& root, const std::string& body) {
  const std::string path = root / "script";
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

ProcessStart StartOf(const testing::TemporaryDirectory& root, const std::string& body) {
  return {.program = Script(root, body),
          .working_directory = root.path(),
          .environment = {{"EIDOLON_AGENT_TOKEN", "secret"}},
          .output_path = root / "out"};
}

std::string Contents(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(AgentProcessesTest, RunsAProgramWithItsEnvironmentAndTellsItsEnd) {
  const testing::TemporaryDirectory root;
  std::promise<std::string> end;
  AgentProcesses processes;

  const auto process = processes.Start(StartOf(root, "echo $EIDOLON_AGENT_TOKEN in $PWD; exit 3"),
                                       [&](const std::string& how) { end.set_value(how); });

  ASSERT_TRUE(process) << process.error().message;
  EXPECT_EQ(end.get_future().get(), "ended with status 3");
  EXPECT_EQ(Contents(root / "out"), "secret in " + root.path() + "\n");
}

TEST(AgentProcessesTest, GivesAProgramTheFileModesOfItsUser) {
  const testing::TemporaryDirectory root;
  std::promise<std::string> end;
  AgentProcesses processes;
  ProcessStart start = StartOf(root, "umask; : >made");
  start.umask = 026;
  const mode_t before = umask(077);  // As `eidolon up` has it.

  const auto process = processes.Start(start, [&](const std::string& how) { end.set_value(how); });

  ASSERT_TRUE(process) << process.error().message;
  end.get_future().wait();
  umask(before);
  EXPECT_EQ(Contents(root / "out"), "0026\n");
  struct stat status {};
  ASSERT_EQ(stat((root / "made").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0640u);
}

TEST(AgentProcessesTest, GivesAProgramTheOpenFilesOfItsUser) {
  const testing::TemporaryDirectory root;
  std::promise<std::string> end;
  AgentProcesses processes;
  ProcessStart start = StartOf(root, "ulimit -S -n");
  start.open_files = 321;  // This program may have raised its own.

  const auto process = processes.Start(start, [&](const std::string& how) { end.set_value(how); });

  ASSERT_TRUE(process) << process.error().message;
  end.get_future().wait();
  EXPECT_EQ(Contents(root / "out"), "321\n");
}

TEST(AgentProcessesTest, NamesTheSignalThatKilledAChild) {
  const testing::TemporaryDirectory root;
  std::promise<std::string> end;
  AgentProcesses processes;
  const auto process = processes.Start(StartOf(root, "while :; do sleep 60; done"),
                                       [&](const std::string& how) { end.set_value(how); });
  ASSERT_TRUE(process);

  processes.Signal(*process, SIGKILL);

  EXPECT_EQ(end.get_future().get(), "was killed by signal 9 (Killed)");
}

TEST(AgentProcessesTest, SaysWhyAProgramCannotBeStarted) {
  const testing::TemporaryDirectory root;
  ProcessStart start = StartOf(root, "");
  start.program = root / "missing";
  AgentProcesses processes;

  const auto process = processes.Start(start, [](const std::string&) {});

  ASSERT_FALSE(process);
  EXPECT_THAT(process.error().message, HasSubstr("missing: No such file or directory"));
}

TEST(AgentProcessesTest, ItsEndKillsWhatIsLeft) {
  const testing::TemporaryDirectory root;
  int process = 0;
  {
    AgentProcesses processes;
    process = *processes.Start(StartOf(root, "trap '' TERM; while :; do sleep 60; done"),
                               [](const std::string&) {});
  }
  EXPECT_NE(kill(process, 0), 0);
}

TEST(AgentProcessesTest, WhatAKilledChildLeavesIsEndedToo) {
  const testing::TemporaryDirectory root;
  std::promise<std::string> end;
  AgentProcesses processes;
  // A daemon of a session of its own, without environment: nothing but its parents tells whose it
  // is.
  const std::string daemon =
      "setsid env -i sh -c 'echo $$ > daemon.part; mv daemon.part daemon; "
      "exec sleep 1000' &\nwhile :; do sleep 60; done";
  const auto process =
      processes.Start(StartOf(root, daemon), [&](const std::string& how) { end.set_value(how); });
  ASSERT_TRUE(process);
  while (!std::filesystem::exists(root / "daemon")) poll(nullptr, 0, 10);

  kill(*process, SIGKILL);

  EXPECT_EQ(end.get_future().get(), "was killed by signal 9 (Killed)");
  EXPECT_NE(kill(std::stoi(Contents(root / "daemon")), 0), 0);
}

TEST(AgentProcessesTest, AChildInheritsNoDescriptors) {
  const testing::TemporaryDirectory root;
  const int leaking = dup(STDERR_FILENO);
  std::promise<std::string> end;
  AgentProcesses processes;

  const auto process =
      processes.Start(StartOf(root, "[ ! -e /proc/self/fd/" + std::to_string(leaking) + " ]"),
                      [&](const std::string& how) { end.set_value(how); });

  ASSERT_TRUE(process);
  EXPECT_EQ(end.get_future().get(), "ended with status 0");
  close(leaking);
}

// Starts a `sleep` with one variable as its whole environment.
pid_t SleepWith(const std::string& variable) {
  const pid_t child = fork();
  if (child == 0) {
    const char* const arguments[] = {"sleep", "60", nullptr};
    const char* const environment[] = {variable.c_str(), nullptr};
    execve("/bin/sleep", const_cast<char**>(arguments), const_cast<char**>(environment));
    _exit(1);
  }
  // Until the exec, the child shows the environment of this process.
  while (Contents("/proc/" + std::to_string(child) + "/environ").find(variable) ==
         std::string::npos) {
  }
  return child;
}

TEST(AgentProcessesTest, FindsProcessesOfARunByTheirEnvironment) {
  const testing::TemporaryDirectory root;
  const pid_t ours = SleepWith("EIDOLON_RUN_DIR=" + (root / "run") + "/s0");
  const pid_t theirs = SleepWith("EIDOLON_RUN_DIR=" + (root / "runner"));

  EXPECT_EQ(KillProcessesOfRun(root / "run"), 1);

  int status = 0;
  waitpid(ours, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(kill(theirs, 0), 0);
  kill(theirs, SIGKILL);
  waitpid(theirs, &status, 0);
}

// The agent has no EIDOLON_RUN_DIR; its guardian is gone.
TEST(AgentProcessesTest, EndsAStoppedAgentOfARunByTheFoldersInItsEnvironment) {
  const testing::TemporaryDirectory root;
  const pid_t agent = SleepWith("EIDOLON_RUN_FOLDERS=/elsewhere:" + (root / "run") + ":/sockets");
  const pid_t other = SleepWith("EIDOLON_RUN_FOLDERS=" + (root / "runner") + ":/elsewhere");
  kill(agent, SIGSTOP);

  EXPECT_EQ(KillProcessesOfRun(root / "run" + "/s0"), 0) << "other servers of its job live on";
  EXPECT_EQ(KillProcessesOfRun(root / "run"), 1);

  EXPECT_EQ(waitpid(other, nullptr, WNOHANG), 0) << "still there";
  for (const pid_t process : {agent, other}) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

TEST(AgentProcessesTest, ARankWhoseRunHasNeitherFolderNorAgentIsAnOrphan) {
  const testing::TemporaryDirectory root;
  std::filesystem::create_directories(root / "kept/s0");
  const pid_t orphan = SleepWith("EIDOLON_RUN_DIR=" + (root / "gone") + "/s0");
  const pid_t kept = SleepWith("EIDOLON_RUN_DIR=" + (root / "kept") + "/s0");
  const pid_t foreign = SleepWith("EIDOLON_RUN_DIR=/elsewhere/gone/s0");
  kill(orphan, SIGSTOP);

  EXPECT_EQ(KillOrphanRanks(root.path()), 1);

  int status = 0;
  waitpid(orphan, &status, 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  for (const pid_t process : {kept, foreign}) {
    EXPECT_EQ(waitpid(process, nullptr, WNOHANG), 0) << "still there";
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

TEST(AgentProcessesTest, AProcessOfARunWithoutEnvironmentEndsWithItsAgent) {
  process::AdoptOrphans();
  const testing::TemporaryDirectory root;
  const std::string run = root / "0";
  const pid_t agent = fork();
  if (agent == 0) {
    const std::string folders = "EIDOLON_RUN_FOLDERS=" + run;
    char* environment[] = {const_cast<char*>(folders.c_str()), nullptr};
    execle("/bin/sh", "sh", "-c", "env -i sleep 1000 & wait", nullptr, environment);
    _exit(127);
  }
  while (process::ChildrenOf(agent).empty()) poll(nullptr, 0, 1);
  const pid_t daemon = process::ChildrenOf(agent).front();
  while (process::NameOf(daemon) != "sleep") poll(nullptr, 0, 1);

  EXPECT_EQ(KillProcessesOfRun(run), 2);

  waitpid(agent, nullptr, 0);
  int status = 0;
  EXPECT_EQ(waitpid(daemon, &status, 0), daemon);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(AgentProcessesTest, ARankBelowItsAgentIsNoOrphan) {
  const testing::TemporaryDirectory root;
  const std::string run = root / "gone";
  const pid_t agent = fork();
  if (agent == 0) {
    const std::string folders = "EIDOLON_RUN_FOLDERS=" + run;
    const std::string rank = "EIDOLON_RUN_DIR=" + run + "/s0 exec sleep 1000 & wait";
    char* environment[] = {const_cast<char*>(folders.c_str()), nullptr};
    execle("/bin/sh", "sh", "-c", rank.c_str(), nullptr, environment);
    _exit(127);
  }
  while (process::ChildrenOf(agent).empty()) poll(nullptr, 0, 1);
  const pid_t rank = process::ChildrenOf(agent).front();
  while (process::NameOf(rank) != "sleep") poll(nullptr, 0, 1);

  EXPECT_EQ(KillOrphanRanks(root.path()), 0);

  EXPECT_EQ(KillProcessesOfRun(run), 2);
  waitpid(agent, nullptr, 0);
}

}  // namespace
}  // namespace eidolon::controller::place
