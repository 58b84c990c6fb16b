#include "services/runtime/process/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace eidolon::process {
namespace {

TEST(DescriptorsTest, AProgramFindsOnlyWhatIsBelowTheLimit) {
  const int leaking = open("/dev/null", O_RDONLY);
  ASSERT_GT(leaking, 2);

  const pid_t child = fork();
  if (child == 0) {
    CloseOnExecFrom(3);
    // The shell opens nothing for `[`; a descriptor that is open can be given to a program.
    const std::string script = "[ ! -e /proc/self/fd/" + std::to_string(leaking) + " ]";
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(2);
  }
  int status = 0;
  waitpid(child, &status, 0);

  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_GE(fcntl(leaking, F_GETFD), 0) << "here it stays open";
  close(leaking);
}

}  // namespace
}  // namespace eidolon::process
