#include "services/agent/launch/witness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace eidolon::agent::launch {
namespace {

using ::testing::HasSubstr;

// A child that waits for its end of a pipe.
class Reader {
 public:
  Reader() {
    if (pipe(ends_) != 0) ADD_FAILURE();
    pid_ = fork();
    if (pid_ != 0) return;
    char byte;
    _exit(read(ends_[0], &byte, 1) == 1 ? 0 : 1);
  }
  ~Reader() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(ends_[0]);
    close(ends_[1]);
  }
  pid_t pid() const { return pid_; }

 private:
  int ends_[2] = {-1, -1};
  pid_t pid_ = 0;
};

// The child gets there on its own time.
Witness LookUntil(pid_t process, const std::function<bool(const Witness&)>& is_right) {
  Witness seen;
  for (int look = 0; look < 1000; ++look) {
    seen = LookAtProcess(process);
    if (is_right(seen)) break;
    poll(nullptr, 0, 10);
  }
  return seen;
}

TEST(WitnessTest, TellsInWhichCallAProcessWaits) {
  const Reader reader;

  const Witness seen = LookUntil(reader.pid(), [](const Witness& witness) {
    return witness.text.find("waits in read") != std::string::npos;
  });

  // A machine may forbid to look at calls; then the place in the kernel tells.
  EXPECT_THAT(seen.text, HasSubstr("waits in "));
  EXPECT_THAT(seen.text, HasSubstr(std::to_string(reader.pid())));
  EXPECT_FALSE(seen.is_stopped);
}

TEST(WitnessTest, NamesAStoppedProcess) {
  const Reader reader;
  kill(reader.pid(), SIGSTOP);

  const Witness seen =
      LookUntil(reader.pid(), [](const Witness& witness) { return witness.is_stopped; });

  EXPECT_TRUE(seen.is_stopped);
  EXPECT_THAT(seen.text, HasSubstr(") is stopped (state T)"));
}

TEST(WitnessTest, AProcessThatIsGoneHasNothingToShow) {
  EXPECT_FALSE(LookAtProcess(1 << 30).is_there);
}

}  // namespace
}  // namespace eidolon::agent::launch
