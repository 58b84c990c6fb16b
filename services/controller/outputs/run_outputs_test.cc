#include "services/controller/outputs/run_outputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "services/contract/critical_path/trace_file.h"
#include "services/contract/recording/recording_file.h"
#include "services/contract/ring/server_page.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::controller::outputs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunOutputsTest : public ::testing::Test {
 protected:
  // Sends in parts of two bytes.
  void Send(std::uint32_t server, Kind kind, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += 2) {
      run_->Add(server, {.kind = kind,
                         .data = bytes.substr(at, 2),
                         .is_last = at + 2 >= bytes.size(),
                         .error = {}});
    }
  }

  // A rank that waits for nothing but its host.
  static std::string Trace(std::int32_t rank, std::int64_t length_ps) {
    critical_path::RankTrace trace;
    trace.rank = rank;
    trace.finish = {length_ps};
    trace.launch_gaps = {{1}};
    trace.names = {"kernel"};
    trace.operations = {{.ready = {10}, .start = {10}, .finish = {length_ps}}};
    std::ostringstream out;
    critical_path::Write(trace, &out);
    return out.str();
  }

  // Returns the block of a rank that asked for nothing.
  std::string RankBlock() const {
    const std::string part = folder_ / "part", file = folder_ / "rank";
    std::ofstream(part) << "entries";
    recording::RankPart rank{.header = {}, .path = part};
    rank.header.ring_version = ring::kVersion;
    rank.header.rank = 3;
    EXPECT_TRUE(recording::WriteRanks({rank}, file));
    std::ifstream in(file, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  }

  std::string Stored(Kind kind = Kind::kTimeline) const {
    const auto path = store_.Find(job_, kind);
    if (!path) return "none";
    std::ifstream file(*path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  }

  testing::TemporaryDirectory folder_;
  OutputStore store_{{.folder = folder_.path(), .bytes_max = 40'000}};
  const JobId job_ = {"team", "a", "uid-a"};
  std::shared_ptr<RunOutputs> run_ =
      std::make_shared<RunOutputs>(&store_, job_, RunOutputs::Wanted{.timeline = true});
};

TEST_F(RunOutputsTest, PutsTheServersPartsBehindEachOther) {
  Send(3, Kind::kTimeline, "second");
  Send(0, Kind::kTraces, Trace(0, 100));
  Send(0, Kind::kTimeline, "first-");
  Send(3, Kind::kTraces, Trace(7, 200));

  const RunOutputs::Kept kept = run_->Keep({0, 3}, "");

  EXPECT_THAT(kept.warnings, IsEmpty());
  EXPECT_EQ(kept.timeline_bytes, 12u);
  EXPECT_EQ(Stored(), "first-second");
  ASSERT_TRUE(kept.path);
  EXPECT_EQ(kept.path->length, base::Duration{200});
  EXPECT_EQ(kept.path->ranks_shown, 2u);
}

TEST_F(RunOutputsTest, ATimelineThatIsNotWholeIsNotKept) {
  Send(0, Kind::kTimeline, "first");
  run_->Add(1, {.kind = Kind::kTimeline, .data = "half", .is_last = false, .error = {}});

  const RunOutputs::Kept kept = run_->Keep({0, 1}, "");

  EXPECT_FALSE(kept.timeline_bytes);
  EXPECT_FALSE(kept.path);
  EXPECT_THAT(kept.warnings, ElementsAre(HasSubstr("server 1: it did not send all of it")));
  EXPECT_EQ(Stored(), "none");
}

TEST_F(RunOutputsTest, SaysWhatAnAgentSaysOfAFileThatItDoesNotSend) {
  run_->Add(0, {.kind = Kind::kTimeline, .data = {}, .is_last = true, .error = "it has 9 bytes"});

  EXPECT_THAT(run_->Keep({0}, "").warnings,
              ElementsAre("the timeline was not stored: server 0: it has 9 bytes"));
  EXPECT_THAT(RunOutputs(&store_, job_, {.timeline = true}).Keep({0}, "").warnings,
              ElementsAre(HasSubstr("it sent none")));
}

TEST_F(RunOutputsTest, AJobMayNotSendMoreThanAQuarterOfWhatIsKept) {
  Send(0, Kind::kTimeline, std::string(6'000, 'a'));
  Send(1, Kind::kTimeline, std::string(6'000, 'b'));

  const RunOutputs::Kept kept = run_->Keep({0, 1}, "");

  EXPECT_THAT(kept.warnings, ElementsAre(HasSubstr("server 1: those of all servers have more than "
                                                   "the 10000 bytes")));
  EXPECT_EQ(Stored(), "none");
}

TEST_F(RunOutputsTest, ARecordingSaysFirstWhatWasRun) {
  run_ = std::make_shared<RunOutputs>(&store_, job_, RunOutputs::Wanted{.recording = true});
  const std::string rank = RankBlock();
  Send(2, Kind::kRecording, rank);
  run_->Add(5, {.kind = Kind::kRecording, .data = {}, .is_last = true, .error = {}});

  const RunOutputs::Kept kept = run_->Keep({2, 5}, R"({"job": {}})");

  EXPECT_THAT(kept.warnings, IsEmpty());
  const auto path = store_.Find(job_, Kind::kRecording);
  ASSERT_TRUE(path);
  EXPECT_EQ(kept.recording_bytes, std::filesystem::file_size(*path));
  const auto recording = recording::RecordingFile::Open(*path);
  ASSERT_TRUE(recording) << recording.error().message;
  EXPECT_EQ(recording->job(), R"({"job": {}})");
  ASSERT_EQ(recording->ranks().size(), 1u);
  EXPECT_EQ(recording->ranks()[0].header.rank, 3);
  EXPECT_FALSE(kept.timeline_bytes);
}

TEST_F(RunOutputsTest, ARecordingIsKeptWithoutATimelineThatIsNotWhole) {
  run_ = std::make_shared<RunOutputs>(&store_, job_, RunOutputs::Wanted{true, true});
  Send(0, Kind::kRecording, RankBlock());
  Send(1, Kind::kRecording, "other");
  Send(0, Kind::kTimeline, "first");

  const RunOutputs::Kept kept = run_->Keep({0, 1}, "{}");

  EXPECT_TRUE(kept.recording_bytes);
  EXPECT_THAT(kept.warnings, ElementsAre(HasSubstr("the timeline was not stored: server 1")));
}

TEST_F(RunOutputsTest, ARecordingOfWhichAServersPartIsMissingIsNotKept) {
  run_ = std::make_shared<RunOutputs>(&store_, job_, RunOutputs::Wanted{.recording = true});
  Send(0, Kind::kRecording, RankBlock());
  run_->Add(1, {.kind = Kind::kRecording, .data = {}, .is_last = true, .error = "too many"});

  const RunOutputs::Kept kept = run_->Keep({0, 1}, "{}");

  EXPECT_FALSE(kept.recording_bytes);
  EXPECT_THAT(kept.warnings, ElementsAre("the recording was not stored: server 1: too many"));
  EXPECT_EQ(Stored(Kind::kRecording), "none");
}

TEST_F(RunOutputsTest, ATimelineIsKeptWithoutTheTracesOfAllServers) {
  Send(0, Kind::kTimeline, "only");
  Send(0, Kind::kTraces, "unsound");

  const RunOutputs::Kept kept = run_->Keep({0}, "");

  EXPECT_EQ(Stored(), "only");
  EXPECT_FALSE(kept.path);
  EXPECT_THAT(kept.warnings, ElementsAre(HasSubstr("the critical path was not found")));
}

}  // namespace
}  // namespace eidolon::controller::outputs
