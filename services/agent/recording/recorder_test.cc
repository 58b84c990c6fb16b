#include "services/agent/recording/recorder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "services/contract/recording/entry_reader.h"
#include "services/contract/ring/call_site.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::recording {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using wire::RecordKind;

class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() {
    char path[] = "/tmp/eidolon-recorder-XXXXXX";
    folder_ = mkdtemp(path);
    recorder_.emplace(folder_ + "/part", kept::EntryWriter::kBytesMax);
  }
  ~RecorderTest() override { std::filesystem::remove_all(folder_); }

  template <typename T>
  void Note(RecordKind kind, T record, std::span<const std::byte> tail = {}) {
    std::vector<std::uint64_t> words((sizeof(T) + tail.size() + 7) / 8);
    record.header.bytes = static_cast<std::uint32_t>(words.size() * 8);
    record.header.kind = kind;
    record.header.host_clock_ps = clock_;
    record.header.check = 77;
    std::memcpy(words.data(), &record, sizeof(T));
    if (!tail.empty()) {
      std::memcpy(reinterpret_cast<char*>(words.data()) + sizeof(T), tail.data(), tail.size());
    }
    recorder_->NoteRecord({std::as_bytes(std::span(words))});
  }
  void Ask(RecordKind kind, std::uint32_t slot, bool observer = false) {
    Note(kind, wire::WaitRecord{{}, slot, observer ? 1u : 0u, 0, 0});
  }

  // "kind@clock", in order.
  std::vector<std::string> Kept() {
    recorder_->Close({9'000}, /*ended=*/true);
    const auto part = recorder_->Take();
    EXPECT_TRUE(part);
    queries_ = part->header.queries;
    std::ifstream in(part->path, std::ios::binary);
    bytes_ = {std::istreambuf_iterator<char>(in), {}};
    kept::EntryReader reader(std::as_bytes(std::span(bytes_)));
    std::vector<std::string> all;
    while (true) {
      const auto entry = reader.Next();
      EXPECT_TRUE(entry);
      if (!entry || !entry->has_value()) break;
      const wire::RecordHeader& header = (*entry)->header();
      EXPECT_EQ(header.check, 0u);
      const int kind = static_cast<int>(header.kind);
      all.push_back(((*entry)->IsRecord()
                         ? "record " + std::to_string(kind)
                         : "entry " + std::to_string(kind - kept::kFirstEntryKind)) +
                    "@" + std::to_string(header.host_clock_ps));
      last_bytes_ = header.bytes;
      if (header.kind == RecordKind::kCommunication || header.kind == RecordKind::kDefineWork) {
        tailed_bytes_ = header.bytes;
      }
      if (header.kind == RecordKind::kCommunication) site_ = wire::CallSiteOf((*entry)->bytes);
    }
    return all;
  }

  static std::string Record(RecordKind kind, std::uint64_t clock) {
    return "record " + std::to_string(static_cast<int>(kind)) + "@" + std::to_string(clock);
  }

  std::string folder_;
  std::optional<Recorder> recorder_;
  std::uint64_t clock_ = 100;
  std::string bytes_;
  std::uint64_t queries_ = 0;
  std::uint32_t last_bytes_ = 0, tailed_bytes_ = 0;
  std::string site_;  // Where a communication was called.
};

TEST_F(RecorderTest, KeepsRecordsAndTheAnswersThatMoveTheClock) {
  Note(RecordKind::kLaunch, wire::LaunchRecord{{}, 1, 2});
  clock_ = 200;
  Ask(RecordKind::kSynchronizeStream, 4);
  recorder_->NoteAnswer(4, SimTime{700});
  recorder_->NoteAnswer(4, SimTime{800});  // Of a question that is not kept.

  EXPECT_EQ(Kept(), (std::vector<std::string>{Record(RecordKind::kLaunch, 100),
                                              Record(RecordKind::kSynchronizeStream, 200),
                                              "entry 0@700", "entry 2@9000"}));
}

TEST_F(RecorderTest, LeavesOutWhatTakesNoTimeAndCountsQueries) {
  Ask(RecordKind::kQueryEvent, 1);
  Ask(RecordKind::kElapsedTime, 1);
  Ask(RecordKind::kQueryEvent, 2, /*observer=*/true);
  Ask(RecordKind::kSynchronizeDevice, 3, /*observer=*/true);
  Ask(RecordKind::kCollectiveValues, 1);
  Ask(RecordKind::kWaitUntil, 1);
  recorder_->NoteAnswer(3, SimTime{500});

  EXPECT_EQ(Kept(), std::vector<std::string>{"entry 2@9000"});
  EXPECT_EQ(queries_, 2u);
}

TEST_F(RecorderTest, KeepsWhatWasGuessedAtTheClockOfTheRecordBefore) {
  Note(RecordKind::kLaunch, wire::LaunchRecord{{}, 1, 2});
  recorder_->NoteGuess("train.py:40");
  clock_ = 200;
  Note(RecordKind::kLaunch, wire::LaunchRecord{{}, 1, 2});

  EXPECT_EQ(Kept(), (std::vector<std::string>{Record(RecordKind::kLaunch, 100),
                                              Record(RecordKind::kGuessedValues, 100),
                                              Record(RecordKind::kLaunch, 200), "entry 2@9000"}));
}

TEST_F(RecorderTest, LeavesOutTheValuesOfCollectives) {
  wire::CommunicationOp op{};
  op.payload_bytes = 4096;
  std::vector<std::byte> tail(sizeof(op) + 4096);
  std::memcpy(tail.data(), &op, sizeof(op));
  wire::CommunicationRecord record{};
  record.op_count = 1;
  record.payload_bytes = 4096;
  Note(RecordKind::kCommunication, record, tail);

  EXPECT_EQ(Kept().size(), 2u);
  EXPECT_EQ(tailed_bytes_, sizeof(wire::CommunicationRecord) + sizeof(op));
  EXPECT_EQ(site_, "");
}

TEST_F(RecorderTest, KeepsWhereAProgramCommunicates) {
  wire::CommunicationOp op{};
  op.payload_bytes = 4096;
  const std::string site = "train.py:40";
  std::vector<std::byte> tail(sizeof(op) + 4096 + site.size());
  std::memcpy(tail.data(), &op, sizeof(op));
  std::memcpy(tail.data() + sizeof(op) + 4096, site.data(), site.size());
  wire::CommunicationRecord record{};
  record.op_count = 1;
  record.payload_bytes = 4096;
  Note(RecordKind::kCommunication, record, tail);

  Kept();

  EXPECT_EQ(site_, site);
  EXPECT_EQ(tailed_bytes_, sizeof(wire::CommunicationRecord) + sizeof(op) + 16);
}

TEST_F(RecorderTest, KeepsNothingBehindItsEnd) {
  recorder_->Close({50}, /*ended=*/false);
  Note(RecordKind::kLaunch, wire::LaunchRecord{{}, 1, 2});
  EXPECT_EQ(Kept(), std::vector<std::string>{"entry 2@50"});
}

TEST_F(RecorderTest, TellsWhereALineEndedAnIteration) {
  recorder_->NoteIteration(12);
  EXPECT_EQ(Kept(), (std::vector<std::string>{"entry 1@0", "entry 2@9000"}));
}

}  // namespace
}  // namespace eidolon::agent::recording
