#include "services/controller/store/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "services/controller/job/job.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

TEST(JobLogTest, GivesLinesBackFromAnyOffsetItNamed) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
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
  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
  ASSERT_TRUE((*log)->Append({.text = "a\nb"}));

  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 2u);
}

TEST(JobLogTest, ALineTornByACrashIsClosedAndTheNextOneReadable) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "1.log") << "0\t1\t5\tone\n0\t1\t6\tto";
  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 1u);

  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
  ASSERT_TRUE((*log)->Append({.text = "three"}));

  const auto chunk = ReadLog(root / "1.log", 0, 4096);
  ASSERT_EQ(chunk->entries.size(), 3u);
  EXPECT_EQ(chunk->entries[1].text, "to");
  EXPECT_EQ(chunk->entries[2].text, "three");
}

TEST(JobLogTest, ALineTornBeforeItsTextIsLeftOut) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "1.log") << "0\t1\t5\tone\n0\t1\t6";

  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
  ASSERT_TRUE((*log)->Append({.text = "three"}));

  const auto chunk = ReadLog(root / "1.log", 0, 4096);
  ASSERT_EQ(chunk->entries.size(), 2u);
  EXPECT_EQ(chunk->entries[1].text, "three");
  EXPECT_EQ(chunk->next_offset, (*log)->size());
}

TEST(JobLogTest, ReadsALineLongerThanTheBufferInPieces) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
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
  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
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
  auto log = JobLog::Open(root / "1.log", job::kLogBytesDefault);
  {
    const LimitedFileSize full(10);
    EXPECT_FALSE((*log)->Append({.text = "lost completely"}));
  }

  EXPECT_EQ((*log)->Close().why, "File too large");

  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.at(0).text,
            "[eidolon: 1 line(s) were not stored: File too large]");
}

// Every entry from the first on, as a reader gets them that comes when all is over.
std::vector<std::string> ReadAll(const std::string& path) {
  std::vector<std::string> texts;
  std::uint64_t offset = 0;
  while (true) {
    const auto chunk = ReadLog(path, offset, 64 << 10);
    if (!chunk || chunk->next_offset == offset) return texts;
    offset = chunk->next_offset;
    for (const LogEntry& entry : chunk->entries) texts.push_back(entry.text);
  }
}

std::uint64_t BytesIn(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

TEST(JobLogTest, ALogThatNeverEndsKeepsItsBeginningAndItsEndWithinTheBound) {
  constexpr std::uint64_t kBound = job::kLogBytesMin;
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log", kBound);
  std::uint64_t most = 0;
  constexpr int kLines = 30'000;
  for (int i = 0; i < kLines; ++i) {
    ASSERT_TRUE((*log)->Append({.text = "line " + std::to_string(i) + std::string(100, '.')}));
    if (i % 97 == 0) most = std::max(most, BytesIn(root.path()));
  }

  EXPECT_LE(most, kBound);
  const auto texts = ReadAll(root / "1.log");
  EXPECT_TRUE(texts.front().starts_with("line 0."));
  EXPECT_TRUE(texts.back().starts_with("line 29999."));
  const auto gap = std::ranges::find_if(
      texts, [](const std::string& text) { return text.starts_with("[eidolon: "); });
  ASSERT_NE(gap, texts.end());
  EXPECT_EQ(*gap,
            "[eidolon: 2.4 MiB of output were left out here; limits.logBytes bounds what is "
            "kept]");
  EXPECT_GT((*log)->left_out(), 2u << 20);
  EXPECT_EQ(std::ranges::count_if(
                texts, [](const std::string& text) { return text.starts_with("[eidolon: "); }),
            1);
  // Close to half of the bound on either side, and nothing missing within.
  const auto before = gap - texts.begin();
  const auto behind = texts.end() - gap - 1;
  EXPECT_GT(before * 116, static_cast<std::ptrdiff_t>(kBound / 2 * 9 / 10));
  EXPECT_GT(behind * 116, static_cast<std::ptrdiff_t>(kBound / 2 * 8 / 10));
  EXPECT_TRUE((gap - 1)->starts_with("line " + std::to_string(before - 1) + "."));
  EXPECT_TRUE((gap + 1)->starts_with("line " + std::to_string(kLines - behind) + "."));
}

TEST(JobLogTest, AReaderThatKeepsUpMissesNothingOfALongLog) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log", job::kLogBytesMin);
  std::uint64_t offset = 0;
  int seen = 0;
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE((*log)->Append({.text = std::to_string(i) + std::string(100, '.')}));
    if (i % 200 != 199) continue;
    for (auto chunk = ReadLog(root / "1.log", offset, 64 << 10);
         chunk && chunk->next_offset != offset; chunk = ReadLog(root / "1.log", offset, 64 << 10)) {
      offset = chunk->next_offset;
      for (const LogEntry& entry : chunk->entries) {
        ASSERT_TRUE(entry.text.starts_with(std::to_string(seen++) + ".")) << entry.text;
      }
    }
  }
  EXPECT_EQ(seen, 20'000);
  EXPECT_EQ(offset, (*log)->size());
}

TEST(JobLogTest, ALongLogGoesOnWhereItWasAfterARestart) {
  const testing::TemporaryDirectory root;
  for (int run = 0; run < 3; ++run) {
    auto log = JobLog::Open(root / "1.log", job::kLogBytesMin);
    for (int i = 0; i < 10'000; ++i) {
      ASSERT_TRUE((*log)->Append({.text = std::to_string(run) + std::string(100, '.')}));
    }
    EXPECT_LE(BytesIn(root.path()), job::kLogBytesMin);
  }
  const auto texts = ReadAll(root / "1.log");
  EXPECT_TRUE(texts.front().starts_with("0."));
  EXPECT_TRUE(texts.back().starts_with("2."));
}

TEST(JobLogTest, ALineThatIsLargerThanASegmentIsCut) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log", job::kLogBytesMin);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE((*log)->Append({.text = std::string(3 << 20, 'x')}));
  }

  EXPECT_LE(BytesIn(root.path()), job::kLogBytesMin);
  EXPECT_THAT(ReadLog(root / "1.log", 0, 1 << 20)->entries.at(0).text,
              ::testing::EndsWith("x [eidolon: the line was cut]"));
}

TEST(JobLogTest, AMissingFileIsAnEmptyLog) {
  const auto chunk = ReadLog("/nonexistent/1.log", 0, 4096);

  ASSERT_TRUE(chunk);
  EXPECT_TRUE(chunk->entries.empty());
}

}  // namespace
}  // namespace eidolon::controller::store
