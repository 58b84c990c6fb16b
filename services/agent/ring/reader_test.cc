#include "services/agent/ring/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "services/agent/ring/fake_writer.h"
#include "services/agent/ring/record_check.h"
#include "services/agent/ring/segment.h"
#include "services/contract/ring/program_inputs.h"

namespace eidolon::agent::ring {
namespace {

using ::testing::HasSubstr;
using wire::RecordKind;

class ReaderTest : public ::testing::Test {
 protected:
  // The next record, which must be there and sound.
  RecordView Next() {
    auto record = reader_.Read(&position_);
    EXPECT_TRUE(record.has_value()) << record.error().message;
    EXPECT_TRUE(record->has_value());
    return **record;
  }
  std::string Complaint() {
    const auto record = reader_.Read(&position_);
    return record.has_value() ? "no complaint" : record.error().message;
  }
  // Expects the damage of a record as the shim writes it, but with wrong content.
  void ExpectDamage(const std::vector<std::byte>& bytes, const std::string& what) {
    writer_.AppendRaw(bytes);
    EXPECT_THAT(Complaint(), HasSubstr(what));
  }
  template <typename T>
  static std::vector<std::byte> BytesOf(const T& record) {
    const auto bytes = std::as_bytes(std::span(&record, 1));
    return {bytes.begin(), bytes.end()};
  }

  Segment segment_ = *Segment::Create({.devices = {{}}}, 1, 0);
  FakeWriter writer_{segment_.base()};
  Reader reader_{segment_.base(), 1};
  std::uint64_t position_ = 0;
};

TEST_F(ReaderTest, ReadsRecordsInOrderAndThenNothing) {
  writer_.SetClock(77);
  writer_.DefineKernel(4, "vector_add");
  writer_.Launch(0, 4);

  const RecordView define = Next();
  EXPECT_EQ(define.header().kind, RecordKind::kDefineWork);
  EXPECT_EQ(define.As<wire::DefineWork>().work, 4u);
  const RecordView launch = Next();
  EXPECT_EQ(launch.As<wire::LaunchRecord>().work, 4u);
  EXPECT_EQ(launch.header().host_clock_ps, 77u);
  EXPECT_FALSE(reader_.Read(&position_)->has_value());
}

TEST_F(ReaderTest, FollowsTheRingAroundItsEndManyTimes) {
  const std::vector<std::byte> name(1000, std::byte{'x'});
  std::uint64_t next = 0;
  for (int round = 0; round < 80'000; ++round) {
    const auto bytes = static_cast<std::uint32_t>(round % 1000);
    writer_.Append(RecordKind::kRangePush,
                   wire::MarkRecord{{}, static_cast<std::uint64_t>(round), bytes, 0},
                   std::span(name).first(bytes));
    if (round % 100 != 99) continue;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(Next().As<wire::MarkRecord>().id, next++);
    reader_.Release(position_);
  }
  EXPECT_GT(position_, 2 * wire::kRingBytes);
}

TEST_F(ReaderTest, TheScoutDoesNotFreeSpace) {
  writer_.Launch(0, 1);
  std::uint64_t scout = 0;

  ASSERT_TRUE(reader_.Read(&scout)->has_value());

  EXPECT_GT(scout, 0u);
  EXPECT_EQ(reader_.released(), 0u);
  EXPECT_EQ(reader_.backlog(), sizeof(wire::LaunchRecord));
}

TEST_F(ReaderTest, AcceptsTheShortestPad) {
  // Records of all multiples of 8 leave 8 bytes before the end of the ring at some point.
  writer_.set_position(wire::kRingBytes - 8);
  position_ = wire::kRingBytes - 8;
  reader_.Release(position_);
  writer_.Launch(0, 9);

  EXPECT_EQ(Next().As<wire::LaunchRecord>().work, 9u);
}

TEST_F(ReaderTest, NamesARecordThatWasOverwritten) {
  for (std::size_t at = 0; at < sizeof(wire::LaunchRecord); ++at) {
    const std::uint64_t begin = position_;
    writer_.SetClock(1'000'000 + at);
    writer_.Launch(3, 7);
    char* ring = wire::RingOf(segment_.base());
    ring[begin + at] = static_cast<char>(ring[begin + at] ^ 0x40);
    EXPECT_THAT(Complaint(), HasSubstr("ring damaged at byte " + std::to_string(begin)));
    ring[begin + at] = static_cast<char>(ring[begin + at] ^ 0x40);
    Next();
  }
}

TEST_F(ReaderTest, NamesARecordOfAnEarlierRound) {
  writer_.Launch(3, 7);
  Next();
  reader_.Release(position_);
  // The write position moves by itself, a whole ring on.
  writer_.set_position(wire::kRingBytes);
  wire::CursorsOf(segment_.base())->write_position.value.store(wire::kRingBytes + 32);
  position_ = wire::kRingBytes;
  reader_.Release(position_);

  EXPECT_THAT(Complaint(), HasSubstr("launch record: its 32 bytes were overwritten"));
}

TEST_F(ReaderTest, NamesASizeThatCannotBe) {
  wire::LaunchRecord launch{{4, RecordKind::kLaunch, 0, 0}, 0, 1};
  ExpectDamage(BytesOf(launch), "ring damaged at byte 0: a record says it has 4 bytes");
}

TEST_F(ReaderTest, NamesAReadPositionThatSomebodyElseMoved) {
  writer_.Launch(0, 1);
  wire::CursorsOf(segment_.base())->read_position.value.store(8);

  EXPECT_THAT(Complaint(), HasSubstr("the read position is 8, not 0"));
}

TEST_F(ReaderTest, NamesARecordLongerThanWhatWasWritten) {
  wire::LaunchRecord launch{{4096, RecordKind::kLaunch, 0, 0}, 0, 1};
  ExpectDamage(BytesOf(launch), "a record says it has 4096 bytes, 32 are there");
}

TEST_F(ReaderTest, NamesAnUnknownKind) {
  wire::LaunchRecord launch{{32, static_cast<RecordKind>(999), 0, 0}, 0, 1};
  ExpectDamage(BytesOf(launch), "record kind 999 is unknown");
}

TEST_F(ReaderTest, NamesAnUnknownDevice) {
  wire::LaunchRecord launch{{32, RecordKind::kLaunch, 5, 0}, 0, 1};
  ExpectDamage(BytesOf(launch), "launch record: device 5 does not exist, there are 1");
}

TEST_F(ReaderTest, NamesAReplySlotThatDoesNotExist) {
  wire::WaitRecord wait{{sizeof(wait), RecordKind::kSynchronizeStream, 0, 0}, 256, 0, 0, 0};
  ExpectDamage(BytesOf(wait), "reply slot 256 does not exist");
}

TEST_F(ReaderTest, NamesATailThatDoesNotFit) {
  wire::MarkRecord mark{{sizeof(mark), RecordKind::kRangePush, 0, 0}, 0, 4'000'000'000, 0};
  ExpectDamage(BytesOf(mark), "its tail needs");
}

TEST_F(ReaderTest, NamesAGraphNodeThatDependsOnALaterOne) {
  struct {
    wire::GraphDefine graph{{}, 7, 1, 1, 0};
    wire::GraphNode node{wire::GraphNodeKind::kEmpty, 0, 0, 1};
    std::uint32_t dependency = 0;
    std::uint32_t padding = 0;
  } record;
  record.graph.header = {sizeof(record), RecordKind::kGraphDefine, 0, 0};
  ExpectDamage(BytesOf(record), "node 0 depends on node 0");
}

TEST_F(ReaderTest, NamesPayloadsThatDoNotAddUp) {
  struct {
    wire::CommunicationRecord call{};
    wire::CommunicationOp op{};
    std::uint64_t payload = 0;
  } record;
  record.call = {{sizeof(record), RecordKind::kCommunication, 0, 0}, 0, 1, 1, 8, 0, 0};
  record.op.bytes = 8;
  record.op.payload_bytes = 4;
  ExpectDamage(BytesOf(record), "payloads have 4 bytes, it says 8");
}

TEST_F(ReaderTest, NamesAClockBeyondAllTime) {
  ExpectDamage(BytesOf(wire::LaunchRecord{
                   {sizeof(wire::LaunchRecord), RecordKind::kLaunch, 0, kClockMaxPs + 1}, 0, 1}),
               "launch record: its clock is 4611686018427387905");
}

TEST_F(ReaderTest, NamesABookingBeyondAllMemory) {
  wire::MemoryRecord record{};
  record.header = {sizeof(record), RecordKind::kMemory, 0, 0};
  record.delta = std::int64_t{1} << 60;
  ExpectDamage(BytesOf(record), "memory record: it books 1152921504606846976 bytes");
}

TEST_F(ReaderTest, NamesAMoreThanBookedDevice) {
  wire::MemoryRecord record{};
  record.header = {sizeof(record), RecordKind::kMemory, 0, 0};
  record.used = ~std::uint64_t{0};
  ExpectDamage(BytesOf(record), "memory record: 18446744073709551615 bytes are booked afterwards");
}

TEST_F(ReaderTest, NamesABlockBeyondAllMemory) {
  wire::MemoryBlockRecord block{};
  block.header = {sizeof(block), RecordKind::kMemoryBlock, 0, 0};
  block.bytes = std::int64_t{1} << 60;
  ExpectDamage(BytesOf(block), "memory block record: it has 1152921504606846976 bytes");
}

TEST_F(ReaderTest, NamesInputsThatCannotBe) {
  const std::uint64_t begin = position_;
  wire::InputsRecord inputs{};
  inputs.header = {sizeof(inputs), RecordKind::kInputs, 0, 0};
  inputs.kind = wire::InputKind::kCount;
  ExpectDamage(BytesOf(inputs), "inputs record: it has kind 4");
  writer_.set_position(begin);
  inputs.kind = wire::InputKind::kCall;
  inputs.tokens = std::uint64_t{1} << 41;
  ExpectDamage(BytesOf(inputs), "it has 0 samples and 2199023255552 tokens");
}

TEST_F(ReaderTest, NamesATensorThatCannotBe) {
  struct {
    wire::OptimizerTensorsRecord list{};
    wire::OptimizerTensor tensor{};
  } record;
  const auto expect = [&](std::uint32_t count, const wire::OptimizerTensor& tensor,
                          const std::string& what) {
    const std::uint64_t begin = position_;
    record.list = {{sizeof(record), RecordKind::kOptimizerTensors, 0, 0}, count, 0};
    record.tensor = tensor;
    ExpectDamage(BytesOf(record), what);
    writer_.set_position(begin);
  };
  expect(2, {}, "optimizer tensors record: its tail needs");
  expect(1, {.address = 0, .bytes = 0, .role = wire::TensorRole::kCount, .reserved = 0},
         "a tensor has role 3");
  expect(1, {.address = 0, .bytes = std::uint64_t{1} << 60, .role = {}, .reserved = 0},
         "a tensor has 1152921504606846976 bytes");
}

TEST_F(ReaderTest, NamesAPlaceInACommunicatorThatCannotBe) {
  wire::CommunicatorInit init{};
  init.header = {sizeof(init), RecordKind::kCommunicatorInit, 0, 0};
  init.size = 4;
  init.rank = 4;
  ExpectDamage(BytesOf(init), "communicator init record: rank 4 of 4");
}

TEST_F(ReaderTest, NamesAnEventThatCannotBe) {
  wire::WaitRecord wait{};
  wait.header = {sizeof(wait), RecordKind::kQueryEvent, 0, 0};
  wait.id = std::uint64_t{1} << 32;
  ExpectDamage(BytesOf(wait), "query event record: it names 4294967296");
}

TEST_F(ReaderTest, NamesAnOperationThatCannotBe) {
  struct {
    wire::CommunicationRecord call{};
    wire::CommunicationOp op{};
  } record;
  const auto expect = [&](const wire::CommunicationOp& op, const std::string& what) {
    const std::uint64_t begin = position_;
    record.call = {{sizeof(record), RecordKind::kCommunication, 0, 0}, 0, 1, 1, 0, 0, 0};
    record.op = op;
    ExpectDamage(BytesOf(record), what);
    writer_.set_position(begin);
  };
  expect({.data_type = 99}, "operation 0 has data type 99");
  expect({.peer = -7}, "operation 0 has peer -7");
  expect({.count = 9, .bytes = 4}, "operation 0 has 9 elements in 4 bytes");
  expect({.count = 1, .bytes = std::uint64_t{1} << 60}, "operation 0 has 1 elements in");
}

TEST_F(ReaderTest, NamesAWritePositionThatRanAway) {
  wire::CursorsOf(segment_.base())->write_position.value.store(1ull << 40);

  EXPECT_THAT(Complaint(), HasSubstr("the write position is 1099511627776"));
}

}  // namespace
}  // namespace eidolon::agent::ring
