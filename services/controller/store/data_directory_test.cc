#include "services/controller/store/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

TEST(DataDirectoryTest, IsMadeWithItsParents) {
  const testing::TemporaryDirectory root;

  const auto directory = DataDirectory::Open(root / "a/b");

  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_TRUE(std::filesystem::is_directory(root / "a/b/logs"));
}

TEST(DataDirectoryTest, ASecondOwnerIsToldWhoTheFirstIs) {
  const testing::TemporaryDirectory root;
  auto first = DataDirectory::Open(root.path());
  ASSERT_TRUE(first);

  const auto second = DataDirectory::Open(root.path());

  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              ::testing::HasSubstr("is in use by process " + std::to_string(getpid())));
}

mode_t DirectoryMode(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(DataDirectoryTest, IsItsOwnersAloneWhateverTheMaskSays) {
  const testing::TemporaryDirectory root;
  const mode_t mask = umask(0);

  const auto directory = DataDirectory::Open(root / "data");

  umask(mask);
  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(DirectoryMode(root / "data"), 0700u);
  EXPECT_EQ(DirectoryMode(root / "data/lock") & 077, 0u);
}

TEST(DataDirectoryTest, ClosesWhatAnEarlierVersionLeftOpen) {
  const testing::TemporaryDirectory root;
  std::filesystem::create_directories(root / "data/logs");
  std::ofstream(root / "data/jobs.db") << "";
  std::ofstream(root / "data/logs/1.log") << "secret";
  chmod((root / "data").c_str(), 0755);
  chmod((root / "data/logs/1.log").c_str(), 0644);

  const auto directory = DataDirectory::Open(root / "data");

  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_EQ(DirectoryMode(root / "data"), 0700u);
  EXPECT_EQ(DirectoryMode(root / "data/logs/1.log"), 0600u);
}

TEST(DataDirectoryTest, LeavesTheModeOfATokenThatIsKnownToOthers) {
  const testing::TemporaryDirectory root;
  std::filesystem::create_directories(root / "data");
  std::ofstream(root / "data/jobs.db") << "";
  std::ofstream(root / "data/token") << "secret";
  chmod((root / "data").c_str(), 0700);
  chmod((root / "data/token").c_str(), 0644);

  ASSERT_TRUE(DataDirectory::Open(root / "data"));

  EXPECT_EQ(DirectoryMode(root / "data/token"), 0644u);
}

TEST(DataDirectoryTest, LeavesAFolderOfOtherFilesAsItIs) {
  const testing::TemporaryDirectory root;
  std::filesystem::create_directories(root / "home");
  std::ofstream(root / "home/file") << "";
  chmod((root / "home").c_str(), 0755);

  const auto directory = DataDirectory::Open(root / "home");

  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, ::testing::HasSubstr("choose a folder of its own"));
  EXPECT_EQ(DirectoryMode(root / "home"), 0755u);
}

TEST(DataDirectoryTest, MeasuresAndRemovesWhatEachJobHasLeft) {
  const testing::TemporaryDirectory root;
  const auto directory = DataDirectory::Open(root.path());
  const auto write = [&](const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(root / name).parent_path());
    std::ofstream(root / name) << std::string(100'000, 'x');
  };
  for (const char* name :
       {"logs/7.log", "logs/7.log.tail/100000", "events/7/server-0.log", "timelines/7.pftrace",
        "recordings/7.eidrec", "logs/71.log", "damaged/job-7.txt"}) {
    write(name);
  }

  const DiskUsage usage = directory->MeasureUsage();
  directory->RemoveOutputs(7);

  EXPECT_GE(usage.outputs.at(7), 500'000u);
  EXPECT_GE(usage.outputs.at(71), 100'000u);
  EXPECT_LT(usage.outputs.at(71), 200'000u);
  EXPECT_GE(usage.total_bytes, 700'000u);
  const DiskUsage later = directory->MeasureUsage();
  EXPECT_FALSE(later.outputs.contains(7));
  EXPECT_EQ(later.outputs.at(71), usage.outputs.at(71));
}

TEST(DataDirectoryTest, SaysWhyItCannotBeMade) {
  const auto directory = DataDirectory::Open("/proc/eidolon");

  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, ::testing::HasSubstr("/proc/eidolon"));
}

}  // namespace
}  // namespace eidolon::controller::store
