#include "services/controller/place/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

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

TEST(RunDirectoryTest, AFolderForServicesIsItsUsersAloneAndDisappears) {
  const testing::TemporaryDirectory root;
  std::string path;
  {
    const auto folder = RunDirectory::MakeForServices(root.path());
    ASSERT_TRUE(folder) << folder.error().message;
    path = folder->path();
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    EXPECT_EQ(CleanUpRuns(root.path()), 0);
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

TEST(RunDirectoryTest, ClosesItsRootToOthers) {
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "runs");
  chmod((root / "runs").c_str(), 0777);

  ASSERT_TRUE(RunDirectory::PrepareRoot(root / "runs"));

  EXPECT_EQ(fs::status(root / "runs").permissions(), fs::perms::owner_all);
}

TEST(RunDirectoryTest, RefusesARootThatSomebodyElseMadeBeforehand) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a folder away";
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "runs");
  ASSERT_EQ(chown((root / "runs").c_str(), 65534, 65534), 0);

  const auto run = RunDirectory::Make(root / "runs", 1);

  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("belongs to user 65534"));
  EXPECT_THAT(run.error().message, ::testing::HasSubstr("--run-root"));
}

TEST(RunDirectoryTest, RefusesALinkAndAFileAsRoot) {
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "real");
  fs::create_directory_symlink(root / "real", root / "link");
  std::ofstream(root / "file") << "";

  for (const char* name : {"link", "file"}) {
    const auto run = RunDirectory::Make(root / name, 1);
    ASSERT_FALSE(run) << name;
    EXPECT_THAT(run.error().message, ::testing::HasSubstr("it is a link or no folder"));
  }
}

TEST(RunDirectoryTest, CleansUpAfterADeadControllerOnly) {
  const testing::TemporaryDirectory root;
  const auto alive = RunDirectory::Make(root.path(), 1);
  const pid_t killed = fork();
  if (killed == 0) {
    const auto left = RunDirectory::Make(root.path(), 1);
    _exit(left ? 0 : 1);
  }
  int status = 0;
  waitpid(killed, &status, 0);
  ASSERT_EQ(status, 0);

  EXPECT_EQ(CleanUpRuns(root.path()), 1);

  EXPECT_TRUE(fs::exists(alive->path()));
  EXPECT_EQ(std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()), 1);
}

TEST(RunDirectoryTest, EarlierVersionsNamedTheirProcessInstead) {
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "old/s0");
  std::ofstream(root / "old/owner") << getpid();
  EXPECT_EQ(CleanUpRuns(root.path()), 0);

  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  std::ofstream(root / "old/owner") << gone;
  EXPECT_EQ(CleanUpRuns(root.path()), 1);
}

TEST(RunDirectoryTest, AFolderThatWasNeverFinishedIsRemovedInTime) {
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "begun");
  EXPECT_EQ(CleanUpRuns(root.path()), 0) << "somebody may be making it";

  fs::last_write_time(root / "begun", fs::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_EQ(CleanUpRuns(root.path()), 1);
}

TEST(RunDirectoryTest, AFolderWhoseRemovalWasInterruptedIsRemovedAtOnce) {
  const testing::TemporaryDirectory root;
  fs::create_directories(root / "half/s0");

  EXPECT_EQ(CleanUpRuns(root.path()), 1);

  EXPECT_FALSE(fs::exists(root / "half"));
}

}  // namespace
}  // namespace eidolon::controller::place
