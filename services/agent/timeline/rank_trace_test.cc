#include "services/agent/timeline/rank_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "services/contract/workload/work.h"

namespace eidolon::agent::timeline {
namespace {

namespace path = critical_path;
namespace wire = ::eidolon::ring;
using base::SimTime;
using ::testing::ElementsAre;

// Rank 5; its iteration 3 has operations from number 10 on.
class RankTraceTest : public ::testing::Test {
 protected:
  RankTraceTest() {
    std::vector<std::byte> bytes(sizeof(workload::Copy));
    workload::Copy work{};
    work.header = {.kind = workload::WorkKind::kCopy, .bytes = sizeof(work)};
    work.kind = workload::CopyKind::kHostToDevice;
    work.bytes = 4096;
    std::memcpy(bytes.data(), &work, sizeof(work));
    copy_ = costs_.Intern(bytes);
    all_reduce_ = costs_.InternName("COLLECTIVE_KIND_ALL_REDUCE");
  }

  struct Run {
    std::int64_t start = 0;
    std::int64_t finish = 0;
    std::uint64_t released_by = 0;
  };
  device::ResolvedOp Op(device::OpKind kind, const Run& run) {
    return {.sequence = next_++,
            .stream = 7,
            .device = 0,
            .kind = kind,
            .host_bound = run.released_by == 0,
            .tag = copy_,
            .ready = SimTime{run.start},
            .start = SimTime{run.start},
            .finish = SimTime{run.finish},
            .released_by = run.released_by};
  }
  void Call(HostCall call, std::int64_t at, std::uint32_t operations = 1) {
    recorder_.NoteCall(call, {.sequence = next_, .host_clock = SimTime{at}}, operations);
  }
  path::RankTrace Traced() {
    recorder_.EndIteration({.index = 3,
                            .sequence_begin = 10,
                            .sequence_end = next_,
                            .start = SimTime{100},
                            .end = SimTime{900},
                            .split = {}});
    recorder_.Close(next_, SimTime{1000});
    return TraceOf(recorder_, {.rank = 5,
                               .devices = devices_,
                               .costs = &costs_,
                               .plain = [](const std::string& text) { return text; }});
  }

  cost::CostCache costs_{132};
  std::vector<device::Traits> devices_{{.launch_gap = base::Duration{7}}};
  Recorder recorder_{{.first = 3, .iterations = 1, .operations_max = 1000}};
  std::uint32_t copy_ = 0;
  std::uint32_t all_reduce_ = 0;
  std::uint64_t next_ = 10;
};

TEST_F(RankTraceTest, KeepsWhatEachOperationWaitedForAndItsCall) {
  recorder_.EndIteration({.index = 2, .sequence_end = 10, .start = {}, .end = {}, .split = {}});
  Call(HostCall::kLaunch, 90);
  recorder_.NoteOperation(Op(device::OpKind::kWork, {107, 200, 10}));  // Behind number 9.
  Call(HostCall::kCommunication, 150);
  auto all_reduce = Op(device::OpKind::kCollective, {207, 300, 11});
  all_reduce.start = SimTime{250};
  recorder_.NoteCollective(all_reduce,
                           {.name = all_reduce_, .communicator = 4, .rank = 1, .call = 6});
  recorder_.NoteWait(HostCall::kSynchronizeStream, SimTime{160},
                     {.sequence = next_, .host_clock = SimTime{300}}, /*line=*/0);
  Call(HostCall::kCallback, 400);
  recorder_.NoteOperation(Op(device::OpKind::kCallback, {410, 420}));

  const path::RankTrace trace = Traced();

  EXPECT_EQ(trace.rank, 5);
  EXPECT_EQ(trace.iteration, 3u);
  EXPECT_EQ(trace.start, SimTime{100});
  EXPECT_EQ(trace.finish, SimTime{900});
  EXPECT_EQ(trace.left_out, 0u);
  EXPECT_THAT(trace.launch_gaps, ElementsAre(base::Duration{7}));
  ASSERT_EQ(trace.operations.size(), 3u);
  EXPECT_EQ(trace.operations[0].kind, path::OperationKind::kCopy);
  EXPECT_EQ(trace.operations[0].released_by, path::kEarlier);
  EXPECT_EQ(trace.operations[0].call, 1u);
  EXPECT_EQ(trace.operations[1].kind, path::OperationKind::kCommunication);
  EXPECT_EQ(trace.operations[1].released_by, 1u);
  EXPECT_EQ(trace.operations[1].ready, SimTime{207});
  EXPECT_EQ(trace.operations[1].start, SimTime{250});
  EXPECT_EQ(trace.names[trace.operations[1].name], "ncclAllReduce");
  EXPECT_EQ(trace.operations[2].kind, path::OperationKind::kHostFunction);
  EXPECT_EQ(trace.operations[2].released_by, path::kHostCall);
  EXPECT_EQ(trace.operations[2].call, 4u);
  ASSERT_EQ(trace.host_events.size(), 4u);
  EXPECT_EQ(trace.names[trace.host_events[0].name], "cudaMemcpyAsync");
  EXPECT_EQ(trace.host_events[2].kind, path::HostEventKind::kWait);
  ASSERT_EQ(trace.communication.size(), 1u);
  EXPECT_EQ(trace.communication[0].call, 6u);
  EXPECT_EQ(trace.communication[0].operation, 1u);
}

TEST_F(RankTraceTest, CountsWhatIsNotThereAndNamesItWhereItIsWaitedFor) {
  recorder_.EndIteration({.index = 2, .sequence_end = 10, .start = {}, .end = {}, .split = {}});
  Call(HostCall::kLaunch, 90);
  ++next_;  // Never ended.
  Call(HostCall::kLaunch, 95);
  recorder_.NoteOperation(Op(device::OpKind::kWork, {107, 200, 11}));

  const path::RankTrace trace = Traced();

  EXPECT_EQ(trace.left_out, 1u);
  ASSERT_EQ(trace.operations.size(), 1u);
  EXPECT_EQ(trace.operations[0].released_by, path::kLeftOut);
  EXPECT_EQ(trace.operations[0].call, 2u);
}

TEST_F(RankTraceTest, SendsAndReceivesAreKeptWithTheirPartners) {
  recorder_.EndIteration({.index = 2, .sequence_end = 10, .start = {}, .end = {}, .split = {}});
  Call(HostCall::kCommunication, 90);
  recorder_.NoteCollective(
      Op(device::OpKind::kCollective, {107, 200}),
      {.name = all_reduce_,
       .communicator = 4,
       .rank = 1,
       .transfers = {{.is_send = true, .peer = 2, .bytes = 8, .sequence = 9},
                     {.is_send = false, .peer = 0, .bytes = 8, .sequence = 3}}});

  const path::RankTrace trace = Traced();

  ASSERT_EQ(trace.communication.size(), 1u);
  EXPECT_EQ(trace.communication[0].member, 1);
  EXPECT_EQ(trace.communication[0].transfers, 2u);
  ASSERT_EQ(trace.transfers.size(), 2u);
  EXPECT_EQ(trace.transfers[0].is_send, 1u);
  EXPECT_EQ(trace.transfers[0].peer, 2);
  EXPECT_EQ(trace.transfers[1].sequence, 3u);
}

}  // namespace
}  // namespace eidolon::agent::timeline
