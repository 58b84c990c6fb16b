#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/contract/recording/entry_reader.h"
#include "services/contract/recording/entry_writer.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/recording/repair_test.h"
#include "services/contract/ring/record.h"
#include "services/contract/ring/server_page.h"

namespace eidolon::recording {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RecordingTest : public ::testing::Test {
 protected:
  RecordingTest() {
    char path[] = "/tmp/eidolon-recording-XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~RecordingTest() override { std::filesystem::remove_all(folder_); }

  static ring::LaunchRecord Launch(std::uint64_t clock, std::uint32_t work) {
    return {.header = {.bytes = sizeof(ring::LaunchRecord),
                       .kind = ring::RecordKind::kLaunch,
                       .device = 0,
                       .host_clock_ps = clock,
                       .check = 0},
            .stream = 7,
            .work = work};
  }

  // A rank's part with so many launches.
  RankPart Part(std::int32_t rank, std::uint32_t launches) const {
    EntryWriter writer(folder_ + "/part." + std::to_string(rank));
    for (std::uint32_t i = 0; i < launches; ++i) {
      const auto launch = Launch(i * 1000, i);
      writer.Add(std::as_bytes(std::span(&launch, 1)));
    }
    EXPECT_TRUE(writer.Finish());
    RankPart part{.header = {}, .path = writer.path()};
    part.header.rank = rank;
    part.header.ring_version = ring::kVersion;
    part.header.entries = writer.entries();
    return part;
  }

  std::string Bytes(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // A whole file of two servers with a rank each.
  std::string File() const {
    const std::string path = folder_ + "/whole";
    std::ofstream out(path, std::ios::binary);
    WriteJob(R"({"job": 1})", &out);
    for (const std::int32_t rank : {1, 0}) {
      const std::string server = folder_ + "/server";
      EXPECT_TRUE(WriteRanks({Part(rank, 40'000)}, server));
      out << Bytes(server);
    }
    out.close();
    return path;
  }

  std::string folder_;
};

TEST_F(RecordingTest, GivesTheEntriesBackInOrder) {
  const auto file = RecordingFile::Open(File());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->job(), R"({"job": 1})");
  ASSERT_EQ(file->ranks().size(), 2u);
  EXPECT_EQ(file->ranks()[0].header.rank, 0);
  EXPECT_EQ(file->ranks()[1].header.rank, 1);
  EntryReader reader(file->ranks()[1].entries);
  for (std::uint32_t i = 0; i < 40'000; ++i) {
    const auto entry = reader.Next();
    ASSERT_TRUE(entry && entry->has_value()) << i;
    ASSERT_TRUE((*entry)->IsRecord());
    ASSERT_EQ((*entry)->As<ring::LaunchRecord>().work, i);
    ASSERT_EQ((*entry)->header().host_clock_ps, i * 1000);
  }
  const auto end = reader.Next();
  EXPECT_TRUE(end && !end->has_value());
}

TEST_F(RecordingTest, IsASmallPartOfWhatTheRingHeld) {
  EXPECT_LT(std::filesystem::file_size(File()), 2 * 40'000 * sizeof(ring::LaunchRecord) / 4);
}

TEST_F(RecordingTest, RefusesBytesThatWereChanged) {
  const std::string whole = Bytes(File());
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    const auto file = RecordingFile::Read(std::as_bytes(std::span(changed)));
    // What pads a block says nothing.
    if (file.has_value()) {
      EXPECT_EQ(file->ranks().size(), 2u) << at;
    }
  }
  const auto cut = RecordingFile::Read(std::as_bytes(std::span(whole.data(), whole.size() - 100)));
  ASSERT_FALSE(cut);
  EXPECT_THAT(cut.error().message, HasSubstr("cut off"));
}

// Where a check of a block is right, what stands in it decides: the fuzzer gets there.
TEST_F(RecordingTest, ChangedBytesWithRepairedChecksAreReadUpToTheEntries) {
  const std::string whole = Bytes(File());
  int opened = 0;
  int damaged_entries = 0;
  for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 97) {
    std::vector<std::byte> changed(whole.size());
    std::memcpy(changed.data(), whole.data(), whole.size());
    changed[at] ^= std::byte{0x10};
    RepairChecks(changed);
    const auto file = RecordingFile::Read(changed);
    if (!file) {
      EXPECT_THAT(file.error().message, Not(HasSubstr("check of a block"))) << at;
      continue;
    }
    ++opened;
    for (const RecordedRank& rank : file->ranks()) {
      EntryReader reader(rank.entries);
      auto entry = reader.Next();
      while (entry && entry->has_value()) entry = reader.Next();
      if (!entry) ++damaged_entries;
    }
  }
  EXPECT_GT(opened, 80);
  EXPECT_GT(damaged_entries, 0);
}

TEST_F(RecordingTest, NamesAVersionThatItCannotRead) {
  std::string bytes = Bytes(File());
  bytes[offsetof(BlockHeader, version)] = 9;
  const auto file = RecordingFile::Read(std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, base::ErrorCode::kUnsupported);
  EXPECT_THAT(file.error().message, HasSubstr("version 9"));
}

TEST_F(RecordingTest, RefusesAFileThatIsNoRecording) {
  const std::string path = folder_ + "/text";
  std::ofstream(path) << std::string(100, 'x');
  const auto file = RecordingFile::Open(path);
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("not a recording"));
  EXPECT_FALSE(RecordingFile::Open(folder_ + "/missing"));
}

TEST_F(RecordingTest, RefusesARankThatOccursTwice) {
  const std::string server = folder_ + "/server";
  ASSERT_TRUE(WriteRanks({Part(3, 1)}, server));
  const std::string once = Bytes(server);
  const std::string twice = once + once;
  const auto file = RecordingFile::Read(std::as_bytes(std::span(twice)));
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("rank 3 twice"));
}

TEST_F(RecordingTest, AnswersForAJobOfItsOwnRanksOnly) {
  const auto file = RecordingFile::Open(File());
  ASSERT_TRUE(file) << file.error().message;

  EXPECT_TRUE(file->CheckRanks({}, 2));
  EXPECT_THAT(file->CheckRanks({}, 4096).error().message,
              HasSubstr("the recording has 2 ranks and the job has 4096; what a job of another"));
  const std::vector<std::uint32_t> live = {0, 1}, others = {0, 63};
  EXPECT_TRUE(file->CheckRanks(live, 64));
  EXPECT_THAT(file->CheckRanks(live, 1).error().message, HasSubstr("a rank 1, and the ranks"));
  EXPECT_THAT(file->CheckRanks(others, 64).error().message,
              HasSubstr("has rank 1, and the job has rank 63 live in its place"));
}

TEST_F(RecordingTest, APipeIsRefusedInsteadOfWaitedFor) {
  const std::string path = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);

  const auto file = RecordingFile::Open(path);

  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("it is a pipe, not a regular file"));
}

TEST_F(RecordingTest, SaysWhenARankDoesNotFit) {
  EntryWriter writer(folder_ + "/small", /*bytes_max=*/1000);
  std::uint64_t noise = 1;
  for (int i = 0; i < 20'000; ++i) {
    noise = noise * 6364136223846793005u + 1442695040888963407u;
    const auto launch = Launch(noise, static_cast<std::uint32_t>(noise >> 7));
    writer.Add(std::as_bytes(std::span(&launch, 1)));
  }
  const auto done = writer.Finish();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("do not fit into 1000 bytes"));
}

TEST_F(RecordingTest, RefusesAnEntryOfAWrongSize) {
  EntryWriter writer(folder_ + "/wrong");
  auto launch = Launch(0, 1);
  launch.header.bytes = 12;
  writer.Add(std::as_bytes(std::span(&launch, 1)));
  ASSERT_TRUE(writer.Finish());
  const std::string bytes = Bytes(writer.path());
  EntryReader reader(std::as_bytes(std::span(bytes)));
  const auto entry = reader.Next();
  ASSERT_FALSE(entry);
  EXPECT_THAT(entry.error().message, HasSubstr("12 bytes"));
}

}  // namespace
}  // namespace eidolon::recording
