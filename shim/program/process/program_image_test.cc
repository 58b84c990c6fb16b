// Tests a process that goes on as another program. Every test changes a child of its own.
#include "shim/program/process/program_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <vector>

#include "shim/core/launcher.h"
#include "shim/program/process/next_program.h"

namespace eidolon::shim::process {
namespace {

using std::string_literals::operator""s;

std::string TextOf(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns whether `holds` is true in a fork of this process.
template <typename Holds>
bool InChild(Holds holds) {
  const pid_t child = fork();
  if (child == 0) _exit(holds() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class Words {
 public:
  explicit Words(std::initializer_list<const char*> words) {
    for (const char* word : words) words_.push_back(const_cast<char*>(word));
    words_.push_back(nullptr);
  }
  char* const* get() const { return words_.data(); }

 private:
  std::vector<char*> words_;
};

TEST(ProgramImageTest, TheKernelShowsTheNewCommandAndVariables) {
  EXPECT_TRUE(InChild([] {
    const bool shown =
        ShowProgram(Words({"python", "-u", "train.py"}).get(), Words({"RANK=3", "EMPTY="}).get());
    return shown && TextOf("/proc/self/cmdline") == "python\0-u\0train.py\0"s &&
           BeganWith() == "RANK=3\0EMPTY=\0"s;
  }));
}

TEST(ProgramImageTest, TheProcessIsCalledAsTheFileOfItsProgram) {
  EXPECT_TRUE(InChild([] {
    NameProcess("/opt/env/bin/python3");
    return TextOf("/proc/self/comm") == "python3\n";
  }));
}

TEST(ProgramImageTest, WhatExecWouldCloseIsClosed) {
  const int kept = fcntl(STDERR_FILENO, F_DUPFD, 3);
  const int closed = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

  EXPECT_TRUE(InChild([&] {
    CloseForExec();
    return fcntl(kept, F_GETFD) >= 0 && fcntl(closed, F_GETFD) < 0;
  }));
}

TEST(ProgramImageTest, TorchrunIsKnownByItsCommandButNotItsRanks) {
  setenv("EIDOLON_RUN_DIR", "/no/such/run", 1);
  const auto is_torchrun = [](const Words& command) {
    return InChild([&] { return ShowProgram(command.get(), environ) && core::IsTorchrun(); });
  };

  EXPECT_TRUE(is_torchrun(Words({"/usr/bin/python3", "/usr/bin/torchrun", "train.py"})));
  EXPECT_TRUE(is_torchrun(Words({"python", "-m", "torch.distributed.run", "train.py"})));
  EXPECT_FALSE(is_torchrun(Words({"python", "-u", "train.py"})));
  setenv("RANK", "0", 1);
  EXPECT_FALSE(is_torchrun(Words({"/usr/bin/python3", "/usr/bin/torchrun", "train.py"})));
  unsetenv("RANK");
  unsetenv("EIDOLON_RUN_DIR");
}

TEST(ProgramImageTest, AChildOfAnotherProcessSharesItsMemoryUntilItsExec) {
  std::atomic<int> written{0};
  const pid_t child = vfork();
  if (child == 0) {
    written = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_EQ(written, 1) << "vfork is libc's where nobody goes on";
  EXPECT_FALSE(HasGoneOn());
}

}  // namespace
}  // namespace eidolon::shim::process
