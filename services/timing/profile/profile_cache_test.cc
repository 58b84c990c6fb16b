#include "services/timing/profile/profile_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace eidolon::timing::profile {
namespace {

constexpr char kGpu[] = "H100-SXM5-80GB";

class ProfileCacheTest : public testing::Test {
 protected:
  ProfileCacheTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "profile.XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/profile.db";
  }
  ~ProfileCacheTest() override { std::filesystem::remove_all(directory_); }

  static Profile Sample() {
    Profile profile;
    profile.gpu = kGpu;
    profile.rows.push_back({.key = {1, ~0ull},
                            .class_key = {3, 4},
                            .size = 1024,
                            .median = base::Duration::Microseconds(5)});
    profile.rows.push_back({.key = {2, 2},
                            .class_key = {3, 4},
                            .size = 512,
                            .median = base::Duration::Microseconds(3)});
    return profile;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(ProfileCacheTest, RemembersAcrossOpening) {
  ASSERT_TRUE((*ProfileCache::Open(path_))->Add(Sample()));

  const auto cache = ProfileCache::Open(path_);

  ASSERT_TRUE(cache) << cache.error().message;
  const auto found = (*cache)->Find(kGpu, {1, ~0ull});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->median, base::Duration::Microseconds(5));
  EXPECT_FALSE((*cache)->Find("L40S", {1, ~0ull}));
  const auto points = (*cache)->Class(kGpu, {3, 4});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].size, 512);
  EXPECT_EQ((*cache)->Export(kGpu).rows.size(), 2u);
}

TEST_F(ProfileCacheTest, MovesADamagedFileAsideAndStartsAnew) {
  { std::ofstream(path_) << std::string(8192, 'x'); }

  const auto cache = ProfileCache::Open(path_);

  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ((*cache)->row_count(), 0u);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".unusable-1"));
  EXPECT_TRUE((*cache)->Add(Sample()));
}

TEST_F(ProfileCacheTest, MovesADatabaseOfAnotherProgramAside) {
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
  sqlite3_exec(file, "CREATE TABLE other(x)", nullptr, nullptr, nullptr);
  sqlite3_close(file);

  const auto cache = ProfileCache::Open(path_);

  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_TRUE(std::filesystem::exists(path_ + ".unusable-1"));
}

TEST_F(ProfileCacheTest, MovesTheJournalOfAFileThatIsOpenElsewhereWithIt) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  for (const char* sql : {"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0",
                          "CREATE TABLE other(x)", "INSERT INTO other VALUES(7)"}) {
    ASSERT_EQ(sqlite3_exec(other, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  }

  ASSERT_TRUE(ProfileCache::Open(path_));

  // A copy, as another program would open it later.
  const std::string moved = path_ + ".unusable-1";
  const std::string copy = directory_ + "/copy.db";
  ASSERT_TRUE(std::filesystem::exists(moved));
  std::filesystem::copy_file(moved, copy);
  std::error_code absent;
  std::filesystem::copy_file(moved + "-wal", copy + "-wal", absent);
  sqlite3_close(other);
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(copy.c_str(), &file), SQLITE_OK);
  sqlite3_stmt* rows = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(file, "SELECT x FROM other", -1, &rows, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_step(rows), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(rows, 0), 7);
  sqlite3_finalize(rows);
  sqlite3_close(file);
}

TEST_F(ProfileCacheTest, MovesAFileOfAnotherSchemaAside) {
  ASSERT_TRUE((*ProfileCache::Open(path_))->Add(Sample()));
  sqlite3* file = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
  sqlite3_exec(file, "PRAGMA user_version=99", nullptr, nullptr, nullptr);
  sqlite3_close(file);

  const auto cache = ProfileCache::Open(path_);

  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ((*cache)->row_count(), 0u);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".unusable-1"));
}

TEST_F(ProfileCacheTest, DamageAnywhereNeverCrashes) {
  ASSERT_TRUE((*ProfileCache::Open(path_))->Add(Sample()));
  const auto size = std::filesystem::file_size(path_);
  for (std::uintmax_t at = 0; at < size; at += 509) {
    const std::string copy = directory_ + "/copy.db";
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    {
      std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(static_cast<std::streamoff>(at));
      file.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
    const auto cache = ProfileCache::Open(copy);
    EXPECT_TRUE(cache) << at << ": " << (cache ? "" : cache.error().message);
  }
}

TEST_F(ProfileCacheTest, AMissingFolderIsNamed) {
  const auto cache = ProfileCache::Open(directory_ + "/none/profile.db");

  ASSERT_FALSE(cache);
  EXPECT_THAT(cache.error().message, testing::HasSubstr("/none/profile.db"));
}

}  // namespace
}  // namespace eidolon::timing::profile
