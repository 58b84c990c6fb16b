#include "services/controller/store/write_ahead_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/random.h"
#include "services/base/text.h"
#include "services/controller/store/data_directory.h"
#include "services/controller/store/database.h"
#include "services/controller/store/job_store.h"
#include "services/controller/store/store_check.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

using base::StrCat;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::size_t kHeader = 32, kFrame = 24 + 4096;

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The files of a store with jobs in its log, as a kill leaves them. A test may damage them.
class WriteAheadLogTest : public ::testing::Test {
 protected:
  WriteAheadLogTest() { EXPECT_TRUE(DataDirectory::Open(root_.path())); }

  void Leave(int jobs) {
    const testing::TemporaryDirectory alive;
    auto store = JobStore::Open(alive / "jobs.db");
    ASSERT_TRUE(store) << store.error().message;
    Create(&*store, "job", jobs);
    Copy(alive);
  }
  // A short round of the log, and frames of a longer one behind it.
  void LeaveOlderFrames() {
    const testing::TemporaryDirectory alive;
    {
      auto store = JobStore::Open(alive / "jobs.db");
      ASSERT_TRUE(store) << store.error().message;
      Create(&*store, "job", 20);
    }
    auto database = Database::Open(alive / "jobs.db");
    ASSERT_TRUE(database->Execute("PRAGMA wal_checkpoint(RESTART)"));
    ASSERT_TRUE(database->Execute("UPDATE sqlite_sequence SET seq = 30"));
    Copy(alive);
  }
  void Copy(const testing::TemporaryDirectory& alive) {
    for (const std::string name : {"jobs.db", "jobs.db-wal"}) {
      fs::copy_file(alive / name, root_ / name, fs::copy_options::overwrite_existing);
    }
  }
  static void Create(JobStore* store, const std::string& name, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(store->CreateJob(
          {.name_space = "default",
           .name = StrCat(name, "-", i),
           .created_unix_ns = 7,
           .document = R"({"metadata": {}, "spec": {}})",
           .status = R"({"conditions": [{"type": "Accepted", "status": "True"}]})"},
          std::nullopt));
    }
  }
  std::string path() const { return root_ / "jobs.db"; }
  std::string Log() const { return BytesOf(root_ / "jobs.db-wal"); }
  std::string LogWith(std::size_t at, char change) const {
    std::string bytes = Log();
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ change);
    return bytes;
  }
  // Returns the log of a disk that lost a sector of a frame.
  std::string LogWithoutSector(std::size_t frame) const {
    return Log().replace(kHeader + frame * kFrame + 24 + 512, 512, std::string(512, '\x5a'));
  }
  std::size_t JobsBack() const {
    auto store = JobStore::Open(path());
    EXPECT_TRUE(store) << store.error().message;
    return store ? store->LoadJobs()->size() : 0;
  }
  // Frames of the log's last round.
  std::size_t Frames() const {
    const std::string bytes = Log();
    std::size_t frames = 0;
    while (kHeader + (frames + 1) * kFrame <= bytes.size() &&
           bytes.substr(kHeader + frames * kFrame + 8, 8) == bytes.substr(16, 8)) {
      ++frames;
    }
    return frames;
  }

  testing::TemporaryDirectory root_;
};

TEST_F(WriteAheadLogTest, AnIntactLogHasNoDamage) {
  Leave(20);

  EXPECT_GE(Frames(), 20u);
  EXPECT_FALSE(FindLogDamage(Log()));
}

TEST_F(WriteAheadLogTest, FramesOfAnEarlierRoundAreNoDamage) {
  LeaveOlderFrames();

  const std::size_t whole = (Log().size() - kHeader) / kFrame;
  ASSERT_LT(Frames(), whole) << "there are none";
  EXPECT_FALSE(FindLogDamage(Log()));
}

TEST_F(WriteAheadLogTest, AnEmptyOrAbsentLogHasNoDamage) {
  EXPECT_FALSE(FindLogDamage(""));
  EXPECT_FALSE(FindLogDamage(std::string(kHeader, '\0')));
  const auto absent = KeepDamagedLog(path(), root_.path(), /*correct=*/false);
  ASSERT_TRUE(absent);
  EXPECT_FALSE(*absent);
  EXPECT_FALSE(fs::exists(root_ / "damaged"));
}

TEST_F(WriteAheadLogTest, AChangedByteOfAnyFrameIsNamed) {
  Leave(4);
  const std::size_t frames = Frames();
  for (std::size_t frame = (frames - 1) % 3; frame < frames; frame += 3) {
    for (const std::size_t at : {0, 7, 8, 15, 16, 23, 24, 2000, 4119}) {
      const auto damage = FindLogDamage(LogWith(kHeader + frame * kFrame + at, 4));
      ASSERT_TRUE(damage) << "byte " << at << " of frame " << frame;
      EXPECT_EQ(damage->frame, static_cast<std::int64_t>(frame) + 1);
      EXPECT_EQ(damage->frames, static_cast<std::int64_t>(frames - frame));
      EXPECT_GT(damage->transactions, 0);
    }
  }
}

TEST_F(WriteAheadLogTest, AChangedByteOfTheHeaderIsNamed) {
  Leave(3);
  for (std::size_t at = 0; at < kHeader; ++at) {
    const auto damage = FindLogDamage(LogWith(at, 4));
    ASSERT_TRUE(damage) << "byte " << at;
    EXPECT_EQ(damage->frame, 0);
    EXPECT_THAT(damage->what, HasSubstr("header"));
  }
}

TEST_F(WriteAheadLogTest, AnyBytesAreExamined) {
  Leave(3);
  const std::string log = Log();
  for (std::size_t size = 0; size < 3 * kFrame; size += 37) {
    (void)CorrectLog(log.substr(0, size));
  }
  base::Random random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = i % 2 == 0 ? log : std::string(random.Below(9000), '\0');
    for (int change = 0; change < 40 && !bytes.empty(); ++change) {
      const std::size_t size =
          change % 2 == 0 ? std::min<std::size_t>(bytes.size(), 64) : bytes.size();
      bytes[random.Below(size)] = static_cast<char>(random.Next());
    }
    const auto damage = FindLogDamage(bytes);
    if (damage) {
      EXPECT_LE(damage->frames, static_cast<std::int64_t>(bytes.size() / 512));
      EXPECT_EQ(CorrectLog(bytes).log.size(), bytes.size());
    }
  }
}

TEST_F(WriteAheadLogTest, AChangedByteOfAnyFrameIsCorrected) {
  Leave(4);
  const std::string intact = Log();
  const std::size_t frames = Frames();
  for (std::size_t frame = (frames - 1) % 3; frame < frames; frame += 3) {
    for (const std::size_t at : {0, 1, 2, 4, 6, 8, 15, 24, 1001, 2002, 4116}) {
      if (frame + 1 == frames && at == 4116) continue;  // Or a byte of the checksum behind it.
      const CorrectedLog corrected = CorrectLog(LogWith(kHeader + frame * kFrame + at, 4));
      EXPECT_EQ(corrected.frames.size(), 1u);
      EXPECT_EQ(corrected.log, intact) << "byte " << at << " of frame " << frame;
    }
  }
}

TEST_F(WriteAheadLogTest, AChangedByteOfAChecksumIsCorrectedIfAFrameFollows) {
  Leave(3);
  for (std::size_t frame = 0; frame + 1 < Frames(); ++frame) {
    const std::size_t at = kHeader + frame * kFrame + 16 + frame % 8;
    EXPECT_EQ(CorrectLog(LogWith(at, 4)).log, Log()) << "frame " << frame;
  }
}

// The highest bytes of words, of which a checksum cannot tell one from another.
TEST_F(WriteAheadLogTest, OfAnAmbiguousByteNothingIsMadeUp) {
  Leave(20);
  const std::string intact = Log();
  fs::copy(path(), root_ / "before.db");
  for (std::size_t frame = 0; frame < Frames(); frame += 5) {
    fs::copy_file(root_ / "before.db", path(), fs::copy_options::overwrite_existing);
    WriteBytes(path() + "-wal", intact);
    WriteBytes(path() + "-wal", LogWith(kHeader + frame * kFrame + 24 + 403, 4));
    const bool is_corrected = !FindLogDamage(CorrectLog(Log()).log);
    auto store = JobStore::Open(path());
    ASSERT_TRUE(store) << store.error().message;
    const auto jobs = store->LoadJobs();
    ASSERT_TRUE(jobs);
    if (is_corrected) {
      EXPECT_EQ(jobs->size(), 20u) << "frame " << frame;
    }
    for (const StoredJob& job : *jobs) EXPECT_EQ(job.damage, "") << "frame " << frame;
  }
}

TEST_F(WriteAheadLogTest, AChangedByteOfTheHeaderIsCorrected) {
  Leave(3);
  const std::string intact = Log();
  for (std::size_t at = 0; at < kHeader; ++at) {
    EXPECT_EQ(CorrectLog(LogWith(at, 4)).log, intact) << "byte " << at;
  }
}

TEST_F(WriteAheadLogTest, OpeningALogWithAChangedByteLosesNothingAndNamesIt) {
  Leave(20);
  const std::string damaged = LogWith(kHeader + 3 * kFrame + 100, 4);
  WriteBytes(path() + "-wal", damaged);

  ::testing::internal::CaptureStderr();
  const std::size_t jobs = JobsBack();
  const std::string logged = ::testing::internal::GetCapturedStderr();

  EXPECT_EQ(jobs, 20u);
  EXPECT_THAT(logged, HasSubstr("error write_ahead_log_damaged"));
  EXPECT_THAT(logged, HasSubstr(StrCat("the write-ahead log ", path(), "-wal is damaged")));
  EXPECT_THAT(logged, HasSubstr("frame 4; the checksums tell what was there"));
  EXPECT_EQ(BytesOf(root_ / "damaged/write-ahead-log"), damaged);
}

TEST_F(WriteAheadLogTest, OpeningALogWithoutASectorNamesWhatIsLost) {
  Leave(20);
  const std::size_t frame = Frames() / 2;
  const std::string damaged = LogWithoutSector(frame);
  WriteBytes(path() + "-wal", damaged);

  ::testing::internal::CaptureStderr();
  const std::size_t jobs = JobsBack();
  const std::string logged = ::testing::internal::GetCapturedStderr();

  EXPECT_GT(jobs, 0u);
  EXPECT_LT(jobs, 20u);
  EXPECT_THAT(logged, HasSubstr("error write_ahead_log_damaged"));
  EXPECT_THAT(logged, HasSubstr(StrCat("frame ", frame + 1, " does not match")));
  EXPECT_THAT(logged, HasSubstr("that may be lost"));
  EXPECT_THAT(logged, HasSubstr("eidolon doctor --store"));
  EXPECT_EQ(BytesOf(root_ / "damaged/write-ahead-log"), damaged);
}

// As a kill between the two writes of a frame leaves it: the new header, the old page.
TEST_F(WriteAheadLogTest, ALastFrameThatWasCutShortIsAWarning) {
  Leave(20);
  std::string bytes = Log();
  bytes.replace(kHeader + (Frames() - 1) * kFrame + 24, 4096, std::string(4096, '\x5a'));
  WriteBytes(path() + "-wal", bytes);

  ::testing::internal::CaptureStderr();
  auto store = JobStore::Open(path());
  const std::string logged = ::testing::internal::GetCapturedStderr();

  ASSERT_TRUE(store) << store.error().message;
  EXPECT_THAT(logged, HasSubstr("warning write_ahead_log_damaged"));
  EXPECT_THAT(logged, HasSubstr("before it was acknowledged, or damage has undone it"));
}

TEST_F(WriteAheadLogTest, DamageIsNamedOnce) {
  Leave(20);
  WriteBytes(path() + "-wal", LogWithoutSector(20));
  ASSERT_TRUE(JobStore::Open(path()));

  EXPECT_FALSE(*KeepDamagedLog(path(), root_.path(), /*correct=*/false));
}

TEST_F(WriteAheadLogTest, TheDoctorListsADamagedLogAndCorrectsIt) {
  Leave(20);
  WriteBytes(path() + "-wal", LogWith(kHeader + 3 * kFrame + 100, 4));

  for (const bool repair : {false, false, true}) {
    const auto findings = CheckStore({.folder = root_.path(), .repair = repair});
    ASSERT_TRUE(findings) << findings.error().message;
    const StoreFinding& first = findings->front();
    EXPECT_EQ(first.subject, "jobs.db-wal");
    EXPECT_EQ(first.state, repair ? StoreFinding::State::kRepaired : StoreFinding::State::kDamaged);
    EXPECT_THAT(first.text, HasSubstr("frame 4"));
  }
  const auto after = CheckStore({.folder = root_.path()});
  EXPECT_EQ(after->front().subject, "jobs.db");
  EXPECT_EQ(JobsBack(), 20u);
  EXPECT_FALSE(fs::exists(root_ / "damaged/write-ahead-log-2")) << "one copy is enough";
}

}  // namespace
}  // namespace eidolon::controller::store
