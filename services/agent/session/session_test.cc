// Records that are sound by themselves but not together: a session refuses them and lives on.
#include "services/agent/session/session.h"
#include "services/agent/session/fake_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/fake_writer.h"

namespace eidolon::agent::session {
namespace {

namespace wire = ::eidolon::ring;
using ::testing::HasSubstr;
using wire::RecordKind;

// A server that knows every cost at once and notes what the network is told.
class QuietHost final : public FakeHost {
 public:
  void SendToNetwork(network::v1::SessionRequest request) override { sent.push_back(request); }

  std::vector<network::v1::SessionRequest> sent;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    host_.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
    ring::Segment segment = *ring::Segment::Create({.devices = {{}}}, 1, 0);
    writer_.emplace(segment.base());
    SessionOptions options;
    options.devices = {{.launch_latency = base::Duration::Microseconds(3),
                        .launch_gap = base::Duration::Microseconds(1),
                        .graph_gap = base::Duration::Microseconds(1),
                        .callback_cost = base::Duration::Microseconds(20),
                        .multiprocessors = 132}};
    session_.emplace(options, std::move(segment), &host_);
  }

  // Communicator 5, alone in it.
  void Join() {
    wire::CommunicatorInit init{};
    init.communicator = 5;
    init.size = 1;
    writer_->Append(RecordKind::kCommunicatorInit, init);
    ASSERT_TRUE(session_->Drain(10).has_value());
    network::v1::Joined joined;
    joined.set_request(1);
    joined.set_communicator(77);
    joined.set_size(1);
    session_->OnJoined(joined);
  }
  // An all-reduce of 8 bytes as template 9, with `copies` operations that bring their values.
  void DefineTemplate(std::uint32_t copies) {
    wire::CommunicationRecord record{};
    record.communicator = 5;
    record.op_count = copies;
    record.payload_bytes = 8 * copies;
    record.template_id = 9;
    const wire::CommunicationOp op{.kind = wire::CommunicationKind::kAllReduce,
                                   .data_type = 7,
                                   .reduction = 0,
                                   .peer = -1,
                                   .count = 2,
                                   .bytes = 8,
                                   .sequence = 0,
                                   .payload_bytes = 8,
                                   .in_place = 1};
    std::vector<wire::CommunicationOp> tail(copies, op);
    tail.resize(copies + 1);  // Room for the values.
    writer_->Append(RecordKind::kCommunication, record,
                    std::as_bytes(std::span(tail)).first(copies * (sizeof(op) + 8)));
  }
  void DefineGraph() {
    const wire::GraphNode node{wire::GraphNodeKind::kCommunication, 9, 0, 0};
    writer_->Append(RecordKind::kGraphDefine, wire::GraphDefine{{}, 3, 1, 0, 0},
                    std::as_bytes(std::span(&node, 1)));
  }

  QuietHost host_;
  std::optional<ring::FakeWriter> writer_;
  std::optional<Session> session_;
};

TEST_F(SessionTest, ALaunchedGraphDoesNotSendTheValuesOfItsCapture) {
  Join();
  DefineTemplate(1);
  DefineGraph();
  writer_->Append(RecordKind::kGraphLaunch, wire::GraphRecord{{}, 0, 3});

  ASSERT_TRUE(session_->Drain(10).has_value());
  std::vector<network::v1::Issue> issues;
  for (const auto& request : host_.sent) {
    if (request.has_issue()) issues.push_back(request.issue());
  }
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_FALSE(issues[0].has_payload());
}

TEST_F(SessionTest, ATemplateThatChangesUnderItsGraphsIsDamage) {
  Join();
  DefineTemplate(1);
  DefineGraph();
  DefineTemplate(2);
  writer_->Append(RecordKind::kGraphLaunch, wire::GraphRecord{{}, 0, 3});

  const auto drained = session_->Drain(10);

  ASSERT_FALSE(drained.has_value());
  EXPECT_THAT(drained.error().message, HasSubstr("template 9 exists already"));
}

TEST_F(SessionTest, AClockThatRanAwayIsDamage) {
  writer_->SetClock(std::uint64_t{1} << 63);

  EXPECT_THAT(session_->Drain(10).error().message, HasSubstr("the rank's clock is 9223372036854"));
}

TEST_F(SessionTest, AClockThatStepsBackIsDamage) {
  writer_->SetClock(9'000'000);
  writer_->DefineKernel(1, "one");
  writer_->SetClock(8'000'000);
  writer_->DefineKernel(2, "two");

  EXPECT_THAT(
      session_->Drain(10).error().message,
      HasSubstr("define work record: its clock, 8000000 ps, is before the previous record's"));
}

TEST_F(SessionTest, AClockThatIsAheadOfWhatTheProcessSaysIsDamage) {
  writer_->SetClock(9'000'000);
  writer_->DefineKernel(1, "one");
  wire::CursorsOf(session_->segment().base())->clock_ps.value.store(std::uint64_t{1} << 60);
  ASSERT_TRUE(session_->Drain(10).has_value());

  writer_->DefineKernel(2, "two");  // May have been on its way in.
  writer_->DefineKernel(3, "three");

  EXPECT_THAT(session_->Drain(10).error().message,
              HasSubstr("is before what the rank's clock said by then, 1152921504606846976 ps"));
}

TEST_F(SessionTest, WhatTheProcessFoundOverwrittenIsDamage) {
  const std::string_view what = "an answer of the agent was overwritten";
  wire::MarkRecord record{};
  record.name_bytes = static_cast<std::uint32_t>(what.size());
  writer_->Append(RecordKind::kDamage, record, std::as_bytes(std::span(what)));

  EXPECT_THAT(
      session_->Drain(10).error().message,
      HasSubstr("ring damaged at byte 0: the process found that an answer of the agent was"));
}

TEST_F(SessionTest, AWorkThatIsDefinedTwiceIsDamage) {
  writer_->DefineKernel(1, "one");
  writer_->DefineKernel(1, "two");

  EXPECT_THAT(session_->Drain(10).error().message, HasSubstr("work 1 exists already"));
}

TEST_F(SessionTest, AnAnswerIsAskedForOnceAtATime) {
  writer_->SetClock(1'000'000);
  writer_->Ask(RecordKind::kWaitUntil, 3, 5'000'000);
  writer_->Ask(RecordKind::kWaitUntil, 3, 6'000'000);

  EXPECT_THAT(session_->Drain(10).error().message,
              HasSubstr("wait until record: reply slot 3 waits for an answer already"));
}

TEST_F(SessionTest, MoreMemoryFreedThanBookedIsDamage) {
  wire::MemoryRecord record{};
  record.delta = 4096;
  record.used = 4096;
  writer_->Append(RecordKind::kMemory, record);
  record.delta = -8192;
  record.used = 0;
  writer_->Append(RecordKind::kMemory, record);

  EXPECT_THAT(session_->Drain(10).error().message,
              HasSubstr("memory record: with its -8192 bytes, -4096 are booked on device 0"));
}

TEST_F(SessionTest, WorkThatEndsBeyondAllTimeIsDamageAndNoClockTurnsNegative) {
  writer_->DefineKernel(1, "endless");
  ASSERT_TRUE(session_->Drain(10).has_value());
  common::v1::Estimate estimate;
  estimate.set_duration_picoseconds(std::uint64_t{3} << 61);
  for (const auto& question : host_.costs().TakeQuestions(10)) {
    host_.costs().Learn(question.entry, estimate);
  }
  for (int i = 0; i < 5; ++i) writer_->Launch(0, 1);

  EXPECT_THAT(session_->Drain(10).error().message,
              HasSubstr("launch record: its work ends beyond all time"));
}

TEST_F(SessionTest, ASleepMayBeLongerThanTimeLasts) {
  writer_->SetClock(1'000'000);
  writer_->Ask(RecordKind::kWaitUntil, 0, ~std::uint64_t{0});

  ASSERT_TRUE(session_->Drain(10).has_value());
  EXPECT_FALSE(writer_->IsAnswered(0));
}

}  // namespace
}  // namespace eidolon::agent::session
