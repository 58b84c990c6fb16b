#include "services/controller/store/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

TEST(JobLogTest, GivesLinesBackFromAnyOffsetItNamed) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE(log);
  ASSERT_TRUE(log->Append({.server = 0, .virtual_ps = 5, .text = "one\ttab"}));
  const auto first = ReadLog(root / "1.log", 0, 4096);
  ASSERT_TRUE(log->Append({.server = 1, .standard_error = true, .virtual_ps = 6, .text = "two"}));

  const auto second = ReadLog(root / "1.log", first->next_offset, 4096);

  ASSERT_EQ(first->entries.size(), 1u);
  EXPECT_EQ(first->entries[0].text, "one\ttab");
  ASSERT_EQ(second->entries.size(), 1u);
  EXPECT_EQ(second->entries[0].text, "two");
  EXPECT_TRUE(second->entries[0].standard_error);
  EXPECT_EQ(second->entries[0].server, 1u);
  EXPECT_EQ(second->next_offset, log->size());
}

TEST(JobLogTest, SplitsTextOfSeveralLines) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE(log->Append({.text = "a\nb"}));

  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 2u);
}

TEST(JobLogTest, ALineTornByACrashIsClosedAndTheNextOneReadable) {
  const testing::TemporaryDirectory root;
  std::ofstream(root / "1.log") << "0\t1\t5\tone\n0\t1\t6\tto";
  EXPECT_EQ(ReadLog(root / "1.log", 0, 4096)->entries.size(), 1u);

  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE(log->Append({.text = "three"}));

  const auto chunk = ReadLog(root / "1.log", 0, 4096);
  ASSERT_EQ(chunk->entries.size(), 3u);
  EXPECT_EQ(chunk->entries[2].text, "three");
}

TEST(JobLogTest, ReadsALineLongerThanTheBufferInPieces) {
  const testing::TemporaryDirectory root;
  auto log = JobLog::Open(root / "1.log");
  ASSERT_TRUE(log->Append({.text = std::string(1000, 'x')}));
  ASSERT_TRUE(log->Append({.text = "after"}));

  std::uint64_t offset = 0;
  std::string last;
  while (offset < log->size()) {
    const auto chunk = ReadLog(root / "1.log", offset, 100);
    ASSERT_GT(chunk->next_offset, offset);
    offset = chunk->next_offset;
    if (!chunk->entries.empty()) last = chunk->entries.back().text;
  }
  EXPECT_EQ(last, "after");
}

TEST(JobLogTest, AMissingFileIsAnEmptyLog) {
  const auto chunk = ReadLog("/nonexistent/1.log", 0, 4096);

  ASSERT_TRUE(chunk);
  EXPECT_TRUE(chunk->entries.empty());
}

}  // namespace
}  // namespace eidolon::controller::store
