#include "services/controller/store/access_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

TEST(AccessTokenTest, IsMadeOnceAndItsOwnersAlone) {
  const testing::TemporaryDirectory folder;

  const auto made = LoadAccessToken(folder / "token");
  const auto read = LoadAccessToken(folder / "token");

  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->text, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(read->text, made->text);
  EXPECT_FALSE(read->was_exposed);
  EXPECT_EQ(ModeOf(folder / "token"), 0600u);
}

TEST(AccessTokenTest, DiffersBetweenFolders) {
  const testing::TemporaryDirectory one, other;

  EXPECT_NE(LoadAccessToken(one / "token")->text, LoadAccessToken(other / "token")->text);
}

TEST(AccessTokenTest, OneThatOthersMayHaveReadIsReplaced) {
  const testing::TemporaryDirectory folder;
  const auto made = LoadAccessToken(folder / "token");
  ASSERT_TRUE(made);
  for (const mode_t mode : {0644u, 0640u, 0606u}) {
    chmod((folder / "token").c_str(), mode);

    const auto read = LoadAccessToken(folder / "token");

    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(read->was_exposed);
    EXPECT_NE(read->text, made->text);
    EXPECT_EQ(ModeOf(folder / "token"), 0600u);
    EXPECT_EQ(LoadAccessToken(folder / "token")->text, read->text);
  }
}

TEST(AccessTokenTest, RotationReplacesIt) {
  const testing::TemporaryDirectory folder;
  const auto made = LoadAccessToken(folder / "token");

  const auto rotated = RotateAccessToken(folder / "token");

  ASSERT_TRUE(rotated) << rotated.error().message;
  EXPECT_NE(rotated->text, made->text);
  EXPECT_EQ(LoadAccessToken(folder / "token")->text, rotated->text);
  EXPECT_EQ(ModeOf(folder / "token"), 0600u);
}

TEST(AccessTokenTest, APipeInItsPlaceIsRefusedInsteadOfWaitedFor) {
  const testing::TemporaryDirectory root;
  const std::string path = root / "token";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  EXPECT_FALSE(LoadAccessToken(path));
}

TEST(AccessTokenTest, ALinkOrAnotherTextIsRefused) {
  const testing::TemporaryDirectory folder;
  std::filesystem::create_symlink("/etc/passwd", folder / "link");
  std::ofstream(folder / "other") << "hello\n";
  chmod((folder / "other").c_str(), 0600);

  EXPECT_FALSE(LoadAccessToken(folder / "link"));
  const auto other = LoadAccessToken(folder / "other");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("no token of ours"));
}

}  // namespace
}  // namespace eidolon::controller::store
