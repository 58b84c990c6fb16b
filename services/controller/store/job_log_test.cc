#include "services/controller/store/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

TEST(JobLogTest, GivesLinesBackFromAnyOffsetItNamed) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE((*log)->Append({.server = 0, .virtual_ps = 5, .text = "one\ttab"}));
  const auto first = ReadLog(root / "1.log", 0, 4096);
  ASSERT_TRUE(
      (*log)->Append({.server = 1, .standard_error = true, .virtual_ps = 6, .text = "two"}));

  const auto second = ReadLog(root / "1.log", first->next_offset, 4096);

  ASSERT_EQ(first->entries.size(), 1u);
  EXPECT_EQ(first->entries[0].text, "one\ttab");
  ASSERT_EQ(second->entries.size(), 1u);
  EXPECT_EQ(second->entries[0].text, "two");
  EXPECT_TRUE(second->entries[0].standard_error);
  EXPECT_EQ(second->entries[0].server, 1u);
  EXPECT_EQ(second->next_offset, (*log)->size());
}

TEST(JobLogTest, SplitsTextOfSeveralLines) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE((*log)->Append({.text = "a\nb"}));

  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 2u);
}

TEST(JobLogTest, ALineTornByACrashIsClosedAndTheNextOneReadable) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "1.log") << "0\t1\t5\tone\n0\t1\t6\tto";
  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 1u);

  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE((*log)->Append({.text = "three"}));

  const auto chunk = ReadLog(root / "1.log", 0, 4096);
  ASSERT_EQ(chunk->entries.size(), 3u);
  EXPECT_EQ(chunk->entries[2].text, "three");
}

TEST(JobLogTest, ReadsALineLongerThanTheBufferInPieces) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE((*log)->Append({.text = std::string(1000, 'x')}));
  ASSERT_TRUE((*log)->Append({.text = "after"}));

  std::uint64_t offset = 0;
  std::string last;
  while (offset < (*log)->size()) {
    const auto chunk = ReadLog(root / "1.log", offset, 100);
    ASSERT_GT(chunk->next_offset, offset);
    offset = chunk->next_offset;
    if (!chunk->entries.empty()) last = chunk->entries.back().text;
  }
  EXPECT_EQ(last, "after");
}

// A file that may not grow beyond a limit, as on a full disk.
class LimitedFileSize {
 public:
  explicit LimitedFileSize(std::uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LimitedFileSize() { setrlimit(RLIMIT_FSIZE, &before_); }
  LimitedFileSize(const LimitedFileSize&) = delete;
  LimitedFileSize& operator=(const LimitedFileSize&) = delete;

 private:
  rlimit before_{};
};

TEST(JobLogTest, SaysHowManyLinesCouldNotBeStored) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE((*log)->Append({.text = "before"}));
  {
    // The first one fits in part: nothing of it may stay.
    const LimitedFileSize full((*log)->size() + 10);
    EXPECT_FALSE((*log)->Append({.text = "lost completely"}));
    EXPECT_FALSE((*log)->Append({.text = "lost\nas well"}));
  }
  ASSERT_TRUE((*log)->Append({.text = "after"}));

  const LostLines lost = (*log)->Close();

  EXPECT_EQ(lost.count, 3u);
  const auto chunk = ReadLog(root / "1.log", 0, 4096);
  ASSERT_EQ(chunk->entries.size(), 3u);
  EXPECT_EQ(chunk->entries[0].text, "before");
  EXPECT_EQ(chunk->entries[1].text, "[eidolon: 3 line(s) were not stored: File too large]");
  EXPECT_EQ(chunk->entries[2].text, "after");
  EXPECT_EQ(chunk->next_offset, (*log)->size());
}

TEST(JobLogTest, TheEndOfALogTellsOfLostLines) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  {
    const LimitedFileSize full(10);
    EXPECT_FALSE((*log)->Append({.text = "lost completely"}));
  }

  EXPECT_EQ((*log)->Close().why, "File too large");

  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.at(0).text,
            "[eidolon: 1 line(s) were not stored: File too large]");
}

TEST(JobLogTest, AMissingFileIsAnEmptyLog) {
  const auto chunk = ReadLog("/nonexistent/1.log", 0, 4096);

  ASSERT_TRUE(chunk);
  EXPECT_TRUE(chunk->entries.empty());
}

}  // namespace
}  // namespace eidolon::controller::store
