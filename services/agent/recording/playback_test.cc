#include "services/agent/recording/playback.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/agent/recording/host_work.h"
#include "services/agent/recording/recorder.h"
#include "services/agent/ring/reader.h"
#include "services/agent/ring/segment.h"
#include "services/base/check.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::recording {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using ::testing::HasSubstr;
using wire::RecordKind;

// A recorder that is written by hand, and a rank that plays back what it kept.
class PlaybackTest : public ::testing::Test {
 protected:
  PlaybackTest() : segment_(MakeSegment()), reader_(segment_.base(), 1) {
    char path[] = "/tmp/eidolon-playback-XXXXXX";
    folder_ = mkdtemp(path);
    recorder_.emplace(folder_ + "/part", kept::EntryWriter::kBytesMax);
  }
  ~PlaybackTest() override { std::filesystem::remove_all(folder_); }

  static ring::Segment MakeSegment() {
    ring::SegmentContent content;
    content.devices.resize(1);
    auto made = ring::Segment::Create(content, 1, 0);
    CHECK(made.has_value());
    return std::move(*made);
  }

  template <typename T>
  void Note(std::uint64_t clock, RecordKind kind, T record) {
    record.header = {
        .bytes = sizeof(T), .kind = kind, .device = 0, .host_clock_ps = clock, .check = 0};
    recorder_->NoteRecord({std::as_bytes(std::span(&record, 1))});
  }
  void Launch(std::uint64_t clock) {
    Note(clock, RecordKind::kLaunch, wire::LaunchRecord{{}, 0, 1});
  }
  void Ask(std::uint64_t clock, std::uint32_t slot) {
    Note(clock, RecordKind::kSynchronizeStream, wire::WaitRecord{{}, slot, 0, 0, 0});
  }
  void Told(std::uint32_t slot, std::int64_t time) { recorder_->NoteAnswer(slot, SimTime{time}); }

  void Play(std::int64_t end, std::uint32_t host_permille = 1000) {
    recorder_->Close({end}, /*ended=*/true);
    const auto part = recorder_->Take();
    CHECK(part.has_value());
    std::ifstream in(part->path, std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(in), {}};
    playback_.emplace(Playback::Options{.device_count = 1,
                                        .host_permille = host_permille,
                                        .on_iteration =
                                            [this](std::uint64_t sequence, SimTime told) {
                                              marks_.push_back({sequence, told});
                                            }},
                      kept::EntryReader(std::as_bytes(std::span(bytes_))), segment_.base());
  }

  // Clocks of the records that came since the last call.
  std::vector<std::uint64_t> Clocks() {
    const auto moved = playback_->Advance();
    EXPECT_TRUE(moved) << moved.error().message;
    std::vector<std::uint64_t> clocks;
    while (true) {
      const auto record = reader_.Read(&position_);
      EXPECT_TRUE(record) << record.error().message;
      if (!record || !record->has_value()) break;
      clocks.push_back((*record)->header().host_clock_ps);
    }
    reader_.Release(position_);
    return clocks;
  }
  void Answer(std::uint32_t slot, std::uint64_t time) { segment_.Answer(slot, {.value_ps = time}); }

  ring::Segment segment_;
  ring::Reader reader_;
  std::uint64_t position_ = 0;
  std::string folder_;
  std::optional<Recorder> recorder_;
  std::string bytes_;
  std::optional<Playback> playback_;
  std::vector<std::pair<std::uint64_t, SimTime>> marks_;
};

using Ps = std::vector<std::uint64_t>;

TEST_F(PlaybackTest, RepeatsTheRecordedClocksWhenAnswersAreTheSame) {
  Launch(100);
  Ask(150, 3);
  Told(3, 900);
  Launch(950);
  Play(1'000);

  EXPECT_EQ(Clocks(), (Ps{100, 150}));
  EXPECT_FALSE(playback_->ended());
  Answer(3, 900);
  EXPECT_TRUE(playback_->Advance());
  EXPECT_FALSE(playback_->ended());  // The last record was not read yet.
  EXPECT_EQ(Clocks(), (Ps{950}));
  EXPECT_TRUE(playback_->ended());
  EXPECT_EQ(segment_.clock_ps(), 1'000u);
}

TEST_F(PlaybackTest, WorksAsLongAfterALaterAnswer) {
  Ask(150, 3);
  Told(3, 900);
  Launch(950);
  Play(1'000);

  EXPECT_EQ(Clocks(), (Ps{150}));
  Answer(3, 2'000);
  EXPECT_EQ(Clocks(), (Ps{2'050}));
  EXPECT_EQ(segment_.clock_ps(), 2'100u);
}

TEST_F(PlaybackTest, DoesNotWaitWhereTheWorkIsDoneEarlier) {
  Ask(150, 3);
  Told(3, 900);
  Launch(950);
  Play(1'000);

  EXPECT_EQ(Clocks(), (Ps{150}));
  Answer(3, 150);
  EXPECT_EQ(Clocks(), (Ps{200}));
}

TEST_F(PlaybackTest, AnotherThreadGoesOnWhileOneWaits) {
  Ask(150, 3);  // One thread waits until 900.
  Launch(200);  // Another one works.
  Told(3, 900);
  Launch(300);  // It was read behind the answer, and yet comes before it.
  Launch(950);
  Play(1'000);

  EXPECT_EQ(Clocks(), (Ps{150, 200, 300}));
  Answer(3, 1'900);
  EXPECT_EQ(Clocks(), (Ps{1'950}));
}

TEST_F(PlaybackTest, ScalesTheHostsWorkAndNothingElse) {
  Launch(100);
  Ask(200, 3);
  Told(3, 900);
  Launch(1'000);
  Play(1'000, /*host_permille=*/500);

  EXPECT_EQ(Clocks(), (Ps{50, 100}));
  Answer(3, 900);
  EXPECT_EQ(Clocks(), (Ps{950}));
}

TEST_F(PlaybackTest, EndsAnIterationBehindTheAnswersThatWereGiven) {
  Ask(150, 3);
  Told(3, 900);
  recorder_->NoteIteration(7);
  Launch(950);
  Play(1'000);

  EXPECT_EQ(Clocks(), (Ps{150}));
  EXPECT_TRUE(marks_.empty());
  Answer(3, 1'200);
  EXPECT_EQ(Clocks(), (Ps{1'250}));
  ASSERT_EQ(marks_.size(), 1u);
  EXPECT_EQ(marks_[0].first, 7u);
  EXPECT_EQ(marks_[0].second.ps, 1'200);
}

TEST_F(PlaybackTest, WaitsForRoomInTheRing) {
  constexpr std::uint64_t kLaunches = 2 * wire::kRingBytes / sizeof(wire::LaunchRecord);
  for (std::uint64_t i = 0; i < kLaunches; ++i) Launch(i);
  Play(static_cast<std::int64_t>(kLaunches));

  std::uint64_t next = 0;
  for (int round = 0; round < 8 && !playback_->ended(); ++round) {
    for (const std::uint64_t clock : Clocks()) ASSERT_EQ(clock, next++);
  }
  EXPECT_EQ(next, kLaunches);
  EXPECT_TRUE(playback_->ended());
}

TEST_F(PlaybackTest, RefusesAClockThatRunsBackwards) {
  Launch(500);
  Launch(400);
  Play(1'000);
  const auto moved = playback_->Advance();
  ASSERT_FALSE(moved);
  EXPECT_THAT(moved.error().message, HasSubstr("backwards"));
}

// 100 until the launch, none until the question, 30 from its answer to the launch, 10 to the end.
TEST_F(PlaybackTest, HostWorkIsWhatLiesBetweenRecordsAndBehindAnswers) {
  Launch(100);
  Ask(100, 3);
  Told(3, 500);
  Launch(530);
  Play(540);

  const auto entries = [this] { return kept::EntryReader(std::as_bytes(std::span(bytes_))); };
  EXPECT_EQ(HostWorkOf(entries(), 0), std::uint64_t{100 + 30 + 10});
  EXPECT_EQ(HostWorkOf(entries(), 3), std::uint64_t{30 + 10});
}

}  // namespace
}  // namespace eidolon::agent::recording
