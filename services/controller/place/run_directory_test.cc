#include "services/controller/place/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::place {
namespace {

namespace fs = std::filesystem;

TEST(RunDirectoryTest, HasAFolderPerServerAndDisappears) {
  const testing::TemporaryDirectory root;
  std::string path;
  {
    const auto run = RunDirectory::Make(root.path(), 2);
    ASSERT_TRUE(run) << run.error().message;
    path = run->path();
    EXPECT_TRUE(fs::is_directory(path + "/s1"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunDirectoryTest, StaysWhenKept) {
  const testing::TemporaryDirectory root;
  std::string path;
  {
    auto run = RunDirectory::Make(root.path(), 1);
    path = run->path();
    run->Keep();
  }
  EXPECT_TRUE(fs::exists(path));
}

TEST(RunDirectoryTest, RefusesAPathTooLongForSockets) {
  const testing::TemporaryDirectory root;

  const auto run = RunDirectory::Make(root / std::string(60, 'x'), 1);

  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("too long for the sockets"));
}

TEST(RunDirectoryTest, CleansUpAfterADeadControllerOnly) {
  const testing::TemporaryDirectory root;
  const auto alive = RunDirectory::Make(root.path(), 1);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  fs::create_directories(root / "dead/s0");
  std::ofstream(root / "dead/owner") << gone;

  EXPECT_EQ(CleanUpRuns(root.path()), 1);

  EXPECT_FALSE(fs::exists(root / "dead"));
  EXPECT_TRUE(fs::exists(alive->path()));
}

}  // namespace
}  // namespace eidolon::controller::place
