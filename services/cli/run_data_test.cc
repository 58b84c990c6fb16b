#include "services/cli/run_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "services/testing/temporary_directory.h"

namespace eidolon::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The temporary folder of this process is one of the test's own meanwhile.
class RunDataTest : public ::testing::Test {
 protected:
  RunDataTest() { SetTemporary(root_.path()); }
  ~RunDataTest() override {
    if (before_.empty()) {
      unsetenv("TMPDIR");
    } else {
      SetTemporary(before_);
    }
  }
  static void SetTemporary(const std::string& path) { setenv("TMPDIR", path.c_str(), 1); }
  static pid_t EndedProcess() {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }
  std::string Only() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(root_.path())) {
      EXPECT_EQ(found, "");
      found = entry.path().string();
    }
    return found;
  }

  const std::string before_ = std::getenv("TMPDIR") == nullptr ? "" : std::getenv("TMPDIR");
  testing::TemporaryDirectory root_;
};

TEST_F(RunDataTest, AFolderOfItsOwnIsThereAsLongAsItIsUsed) {
  std::string path;
  {
    const auto data = RunData::Make("");
    ASSERT_TRUE(data) << data.error().message;
    path = data->path();
    EXPECT_TRUE(data->is_temporary());
    EXPECT_EQ(Only(), path);
  }

  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunDataTest, AFolderThatTheUserNamesIsKept) {
  const std::string wanted = root_ / "wanted";
  fs::create_directory(wanted);

  EXPECT_FALSE(RunData::Make(wanted)->is_temporary());

  EXPECT_TRUE(fs::exists(wanted));
}

// In another container its number is free here, or another process's.
TEST_F(RunDataTest, TheFolderOfALiveRunIsKeptWhateverProcessNumberItHas) {
  const auto live = RunData::Make("");
  ASSERT_TRUE(live) << live.error().message;
  std::ofstream(live->path() + "/owner") << EndedProcess();

  const auto other = RunData::Make("");

  ASSERT_TRUE(other) << other.error().message;
  EXPECT_NE(other->path(), live->path());
  EXPECT_TRUE(fs::exists(live->path() + "/owner"));
}

TEST_F(RunDataTest, TheFolderOfARunThatWasKilledIsRemoved) {
  const pid_t child = fork();
  if (child == 0) {
    const auto data = RunData::Make("");
    if (data) kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_NE(Only(), "");

  const auto next = RunData::Make("");

  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(Only(), next->path());
}

TEST_F(RunDataTest, AFolderOfAnEarlierVersionGoesWithItsProcess) {
  const std::string used = root_ / "eidolon-run-used", left = root_ / "eidolon-run-left";
  fs::create_directory(used);
  fs::create_directory(left);
  std::ofstream(used + "/owner") << getpid();
  std::ofstream(left + "/owner") << EndedProcess();

  const auto data = RunData::Make("");

  EXPECT_TRUE(fs::exists(used));
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(RunDataTest, ATemporaryFolderThatIsNotThereIsNamed) {
  SetTemporary(root_ / "gone");

  const auto data = RunData::Make("");

  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message, HasSubstr(root_ / "gone' (TMPDIR), cannot be used"));
  EXPECT_THAT(data.error().message, HasSubstr("set TMPDIR"));
}

}  // namespace
}  // namespace eidolon::cli
