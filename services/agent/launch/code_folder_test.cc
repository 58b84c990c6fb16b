#include "services/agent/launch/code_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

class CodeFolderTest : public testing::Test {
 protected:
  CodeFolderTest() {
    root_ = fs::path(testing::TempDir()) /
            ("code_folder_" + std::to_string(getpid()) + "_" +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    wanted_ = root_ / "cache" / "code";
    instead_ = root_ / "index";
  }
  ~CodeFolderTest() override { fs::remove_all(root_); }

  void Write(const std::string& name, std::size_t bytes, int hours_ago) const {
    std::ofstream(wanted_ / name) << std::string(bytes, 'x');
    fs::last_write_time(wanted_ / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(hours_ago));
  }

  fs::path root_, wanted_, instead_;
};

TEST_F(CodeFolderTest, IsMadeForItsUserAlone) {
  const CodeFolder folder = PrepareCodeFolder(wanted_, instead_);

  EXPECT_EQ(folder.path, wanted_);
  struct stat status = {};
  ASSERT_EQ(stat(wanted_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(CodeFolderTest, AnotherIsTakenWhereItCannotBeMade) {
  std::ofstream(root_ / "cache") << "a file";

  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_).path, instead_);
  EXPECT_EQ(PrepareCodeFolder("", instead_).path, instead_);
  EXPECT_TRUE(fs::is_directory(instead_));
}

TEST_F(CodeFolderTest, OneThatOthersMayWriteToIsNotUsed) {
  fs::create_directories(wanted_);
  ASSERT_EQ(chmod(wanted_.c_str(), 0777), 0);

  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_).path, instead_);
}

TEST_F(CodeFolderTest, TheOldestFilesGoWhenThereAreTooManyBytes) {
  PrepareCodeFolder(wanted_, instead_);
  Write("old", 400, 3);
  Write("middle", 400, 2);
  Write("new", 400, 1);

  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_, 1200).removed, 0u);
  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_, 1100).removed, 1u);
  EXPECT_FALSE(fs::exists(wanted_ / "old"));
  EXPECT_TRUE(fs::exists(wanted_ / "middle"));
  EXPECT_TRUE(fs::exists(wanted_ / "new"));
}

TEST_F(CodeFolderTest, RefusedFilesAreCountedAndRemoved) {
  PrepareCodeFolder(wanted_, instead_);
  Write("a.footprints.refused", 10, 0);
  Write("b.footprints", 10, 0);

  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_).refused, 1u);
  EXPECT_EQ(PrepareCodeFolder(wanted_, instead_).refused, 0u);
  EXPECT_TRUE(fs::exists(wanted_ / "b.footprints"));
}

}  // namespace
}  // namespace eidolon::agent::launch
