#include "services/runtime/process/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "services/runtime/process/proc_file.h"

namespace eidolon::process {
namespace {

// A child that sleeps until it is killed.
class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ != 0) return;
    while (true) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(ProcessTreeTest, FindsChildren) {
  const Child child;

  const auto found = DescendantsOf(getpid());

  EXPECT_NE(std::find(found.begin(), found.end(), child.pid()), found.end());
}

TEST(ProcessTreeTest, FindsTheChildrenOfThreadsAndTheirChildren) {
  std::promise<pid_t> forked;
  std::promise<void> done;
  // The parent of a process is the thread that forked it, for as long as that thread lives.
  std::thread other([&] {
    const Child child;
    forked.set_value(child.pid());
    done.get_future().wait();
  });
  const pid_t child = forked.get_future().get();

  const auto found = DescendantsNow(getpid());
  EXPECT_NE(std::find(found.begin(), found.end(), child), found.end());
  EXPECT_TRUE(DescendantsNow(child).empty());
  done.set_value();
  other.join();
}

TEST(ProcessTreeTest, BothListsNameTheChildrenOfChildren) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Child grandchild;
    const pid_t number = grandchild.pid();
    if (write(ends[1], &number, sizeof number) != sizeof number) _exit(1);
    while (true) pause();
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ends[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});

  // Both lists are sorted by nothing in particular; only this process's own tree stands still.
  auto now = DescendantsNow(getpid());
  auto all = DescendantsOf(getpid());
  std::ranges::sort(now);
  std::ranges::sort(all);
  EXPECT_EQ(now, all);
  EXPECT_EQ(std::ranges::count(now, child), 1);
  EXPECT_EQ(std::ranges::count(now, grandchild), 1);

  kill(grandchild, SIGKILL);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

// A shell with as many sleeping children as asked for.
class Crowd {
 public:
  explicit Crowd(int size) {
    int ends[2];
    if (pipe(ends) != 0) return;
    shell_ = fork();
    if (shell_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const std::string script =
          "i=0; while [ $i -lt " + std::to_string(size) +
          " ]; do sleep 1000 >/dev/null & i=$((i+1)); last=$!; done; echo $last; wait";
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(1);
    }
    close(ends[1]);
    std::string line;
    for (char byte; read(ends[0], &byte, 1) == 1 && byte != '\n';) line.push_back(byte);
    close(ends[0]);
    last_ = static_cast<pid_t>(std::atoi(line.c_str()));
  }
  ~Crowd() {
    EXPECT_TRUE(EndAll([] { return DescendantsOf(getpid()); }));
  }
  pid_t shell() const { return shell_; }
  pid_t last() const { return last_; }

 private:
  pid_t shell_ = 0;
  pid_t last_ = 0;
};

// Calls of read() that this thread has made, as the kernel counts them.
std::int64_t CountReads() {
  const std::string text = ReadProcFile("/proc/thread-self/io");
  const std::size_t at = text.find("syscr: ");
  EXPECT_NE(at, std::string::npos) << "this kernel does not count reads (TASK_IO_ACCOUNTING)";
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + 7);
}

// The list of the shell's children is longer than a page.
constexpr int kCrowd = 1'100;

TEST(ProcessTreeTest, WhetherAProcessIsBelowAnotherIsReadFromItsParentsAlone) {
  AdoptOrphans();
  const Crowd crowd(kCrowd);
  ASSERT_GT(crowd.last(), 0);
  const std::int64_t before = CountReads();

  EXPECT_TRUE(IsWithin(crowd.last(), {crowd.shell()}));
  EXPECT_TRUE(IsWithin(crowd.shell(), {crowd.shell()}));
  EXPECT_FALSE(IsWithin(crowd.shell(), {crowd.last()}));

  // The child's stat, those of child and shell until this process, and the count itself.
  EXPECT_LE(CountReads() - before, 4);
  EXPECT_FALSE(IsWithin(getppid(), {crowd.shell()}));
  EXPECT_FALSE(IsWithin(crowd.last(), {}));
  EXPECT_TRUE(IsWithin(crowd.last(), {getpid()}));
}

TEST(ProcessTreeTest, ALongListOfChildrenIsReadWithoutThoseOfTheWholeMachine) {
  AdoptOrphans();
  const Crowd crowd(kCrowd), others(kCrowd);
  const std::int64_t before = CountReads();

  const std::vector<pid_t> found = DescendantsNow(crowd.shell());

  const std::int64_t reads = CountReads() - before;
  EXPECT_EQ(found.size(), std::size_t{kCrowd});
  EXPECT_TRUE(std::ranges::binary_search(found, crowd.last()));
  // One for each list, which is empty but for the shell's.
  EXPECT_LE(reads, kCrowd + 20);
}

TEST(ProcessTreeTest, ACrowdIsEndedInAFewLooksThroughAllProcesses) {
  AdoptOrphans();
  const Crowd crowd(kCrowd);
  const std::int64_t before = CountReads();
  const std::size_t found = DescendantsOf(getpid()).size();
  const std::int64_t look = CountReads() - before;
  ASSERT_GT(found, std::size_t{kCrowd});

  EXPECT_TRUE(EndAll([] { return DescendantsOf(getpid()); }));

  // A look for the roots, one for what is below them, and again until all are collected; not one
  // for each process.
  EXPECT_LT(CountReads() - before, look * kCrowd / 2);
}

TEST(ProcessTreeTest, FindsParents) {
  const Child child;

  const auto found = AncestorsOf(child.pid());

  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], getpid());
  EXPECT_EQ(found[1], getppid());
  EXPECT_TRUE(AncestorsOf(-1).empty());
}

// What a program does that wants to be left alone: it forks twice, begins a session of its own, and
// replaces itself by a program without an environment. Returns its number, told by a pipe.
pid_t StartDaemon() {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    const pid_t self = getpid();
    if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
    for (int file = 3; file < 64; ++file) close(file);
    char name[] = "sleep", time[] = "1000";
    char* arguments[] = {name, time, nullptr};
    char* environment[] = {nullptr};
    execve("/bin/sleep", arguments, environment);
    _exit(1);
  }
  pid_t found = 0;
  if (read(ends[0], &found, sizeof found) != sizeof found) found = 0;
  close(ends[0]);
  close(ends[1]);
  waitpid(child, nullptr, 0);
  return found;
}

TEST(ProcessTreeTest, ADaemonWithoutEnvironmentIsFoundAndEnded) {
  AdoptOrphans();
  const pid_t daemon = StartDaemon();
  ASSERT_GT(daemon, 0);
  const auto found = DescendantsOf(getpid());
  EXPECT_NE(std::find(found.begin(), found.end(), daemon), found.end());

  EXPECT_TRUE(EndAll([] { return DescendantsOf(getpid()); }));

  EXPECT_EQ(kill(daemon, 0), -1);
}

TEST(ProcessTreeTest, AStoppedTreeIsEndedToo) {
  AdoptOrphans();
  const pid_t parent = fork();
  if (parent == 0) {
    fork();
    raise(SIGSTOP);
    while (true) pause();
  }

  EXPECT_TRUE(EndAll([] { return DescendantsOf(getpid()); }));

  EXPECT_EQ(kill(parent, 0), -1);
}

TEST(ProcessTreeTest, AProcessThatIsGoneHasNoName) {
  EXPECT_EQ(NameOf(-1), "");
  EXPECT_NE(NameOf(getpid()), "");
}

}  // namespace
}  // namespace eidolon::process
