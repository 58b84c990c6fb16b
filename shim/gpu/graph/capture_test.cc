#include "shim/gpu/graph/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/launch/launch.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/event.h"
#include "shim/gpu/stream/stream_wait.h"

namespace eidolon::shim::gpu {
namespace {

using core::FakeAgent;
using ring::RecordKind;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    for (StreamHandle* stream : {&first_, &second_}) {
      EXPECT_EQ(CreateStream(1, 0, stream), Status::kSuccess);
    }
    for (EventHandle* event : {&fork_, &join_}) {
      EXPECT_EQ(CreateEvent(2, event), Status::kSuccess);
    }
    EXPECT_EQ(LoadImage(SampleFatBinary().data(), &library_), Status::kSuccess);
    EXPECT_EQ(library_->FindKernel("nothing", &kernel_), Status::kSuccess);
    agent_.Reset();
  }
  ~CaptureTest() override {
    for (StreamHandle stream : {first_, second_}) DestroyStream(stream);
    for (EventHandle event : {fork_, join_}) DestroyEvent(event);
    library_->Unload();
  }

  Status Launch(StreamHandle stream, std::uint32_t blocks = 1) {
    return LaunchKernel(*kernel_, {{blocks, 1, 1}, {32, 1, 1}}, {}, stream);
  }
  CaptureStatus StatusOf(StreamHandle stream) {
    CaptureInfo info;
    EXPECT_EQ(GetCaptureInfo(stream, &info), Status::kSuccess);
    return info.status;
  }

  FakeAgent& agent_;
  StreamHandle first_ = nullptr;
  StreamHandle second_ = nullptr;
  EventHandle fork_ = nullptr;
  EventHandle join_ = nullptr;
  Library* library_ = nullptr;
  Kernel* kernel_ = nullptr;
};

TEST_F(CaptureTest, WorkBecomesNodesAndReachesTheRingOnlyWhenLaunched) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  Graph* graph = nullptr;
  ASSERT_EQ(EndCapture(first_, &graph), Status::kSuccess);
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->EdgeCount(), 1u);
  EXPECT_TRUE(agent_.RecordsOf(RecordKind::kLaunch).empty());

  GraphExec* exec = nullptr;
  ASSERT_EQ(InstantiateGraph(*graph, 0, &exec), Status::kSuccess);
  ASSERT_EQ(LaunchGraph(*exec, first_), Status::kSuccess);
  ASSERT_EQ(LaunchGraph(*exec, second_), Status::kSuccess);

  const auto launches = agent_.RecordsOf(RecordKind::kGraphLaunch);
  ASSERT_EQ(launches.size(), 2u);
  const auto defines = agent_.RecordsOf(RecordKind::kGraphDefine);
  ASSERT_EQ(defines.size(), 1u);
  const auto& define = defines[0].As<ring::GraphDefine>();
  EXPECT_EQ(define.graph, launches[0].As<ring::GraphRecord>().graph);
  EXPECT_EQ(define.node_count, 2u);
  EXPECT_EQ(define.dependency_count, 1u);
  DestroyExec(*exec);
  DestroyGraph(*graph);
}

TEST_F(CaptureTest, SpreadsOverStreamsByEventsAndMustComeBack) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  ASSERT_EQ(RecordEvent(fork_, first_, 0), Status::kSuccess);
  ASSERT_EQ(WaitEvent(second_, fork_, 0), Status::kSuccess);
  EXPECT_EQ(StatusOf(second_), CaptureStatus::kActive);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  ASSERT_EQ(Launch(second_), Status::kSuccess);
  ASSERT_EQ(RecordEvent(join_, second_, 0), Status::kSuccess);
  ASSERT_EQ(WaitEvent(first_, join_, 0), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  Graph* graph = nullptr;
  ASSERT_EQ(EndCapture(first_, &graph), Status::kSuccess);

  EXPECT_EQ(StatusOf(second_), CaptureStatus::kNone);
  const auto& nodes = graph->nodes;
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_TRUE(nodes[0]->dependencies.empty());
  EXPECT_THAT(nodes[1]->dependencies, ElementsAre(nodes[0].get()));
  EXPECT_THAT(nodes[2]->dependencies, ElementsAre(nodes[0].get()));
  EXPECT_THAT(nodes[3]->dependencies, UnorderedElementsAre(nodes[1].get(), nodes[2].get()));
  EXPECT_EQ(QueryEvent(join_), Status::kCapturedEvent);
  DestroyGraph(*graph);
}

TEST_F(CaptureTest, WorkThatDoesNotComeBackIsAnError) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  ASSERT_EQ(RecordEvent(fork_, first_, 0), Status::kSuccess);
  ASSERT_EQ(WaitEvent(second_, fork_, 0), Status::kSuccess);
  ASSERT_EQ(Launch(second_), Status::kSuccess);
  Graph* graph = nullptr;

  EXPECT_EQ(EndCapture(second_, &graph), Status::kCaptureUnmatched);
  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureUnjoined);

  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(StatusOf(first_), CaptureStatus::kNone);
  EXPECT_EQ(StatusOf(second_), CaptureStatus::kNone);
  EXPECT_EQ(EndCapture(first_, &graph), Status::kIllegalState);
}

TEST_F(CaptureTest, SynchronisingInvalidates) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kThreadLocal), Status::kSuccess);
  EXPECT_EQ(SynchronizeStream(first_), Status::kCaptureUnsupported);
  EXPECT_EQ(StatusOf(first_), CaptureStatus::kInvalidated);
  EXPECT_EQ(Launch(first_), Status::kCaptureInvalidated);
  Graph* graph = nullptr;

  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureInvalidated);

  EXPECT_EQ(Launch(first_), Status::kSuccess);
}

TEST_F(CaptureTest, WaitingForWorkOutsideIsRefused) {
  ASSERT_EQ(RecordEvent(fork_, second_, 0), Status::kSuccess);
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kRelaxed), Status::kSuccess);

  EXPECT_EQ(WaitEvent(first_, fork_, 0), Status::kCaptureIsolation);

  Graph* graph = nullptr;
  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureInvalidated);
}

TEST_F(CaptureTest, TwoCapturesDoNotMix) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kRelaxed), Status::kSuccess);
  ASSERT_EQ(BeginCapture(second_, CaptureMode::kRelaxed), Status::kSuccess);
  EXPECT_EQ(BeginCapture(second_, CaptureMode::kRelaxed), Status::kIllegalState);
  ASSERT_EQ(RecordEvent(fork_, first_, 0), Status::kSuccess);

  EXPECT_EQ(WaitEvent(second_, fork_, 0), Status::kCaptureMerge);

  Graph* graph = nullptr;
  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureInvalidated);
  EXPECT_EQ(EndCapture(second_, &graph), Status::kCaptureInvalidated);
}

TEST_F(CaptureTest, UnsafeCallsDependOnTheModes) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kThreadLocal), Status::kSuccess);
  std::thread([] { EXPECT_EQ(CheckUnsafeCall(), Status::kSuccess); }).join();
  EXPECT_EQ(ExchangeThreadCaptureMode(CaptureMode::kRelaxed), CaptureMode::kGlobal);
  EXPECT_EQ(CheckUnsafeCall(), Status::kSuccess);
  EXPECT_EQ(ExchangeThreadCaptureMode(CaptureMode::kGlobal), CaptureMode::kRelaxed);
  EXPECT_EQ(StatusOf(first_), CaptureStatus::kActive);
  EXPECT_EQ(CheckUnsafeCall(), Status::kCaptureUnsupported);
  EXPECT_EQ(StatusOf(first_), CaptureStatus::kInvalidated);
  Graph* graph = nullptr;
  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureInvalidated);

  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  std::thread([] { EXPECT_EQ(CheckUnsafeCall(), Status::kCaptureUnsupported); }).join();
  std::thread([&] {
    Graph* other = nullptr;
    EXPECT_EQ(EndCapture(first_, &other), Status::kCaptureWrongThread);
  }).join();
  EXPECT_EQ(EndCapture(first_, &graph), Status::kCaptureInvalidated);
}

TEST_F(CaptureTest, TheLegacyStreamCannotCaptureNorDisturb) {
  EXPECT_EQ(BeginCapture(kLegacyStream, CaptureMode::kGlobal), Status::kCaptureUnsupported);
  StreamHandle blocking = nullptr;
  ASSERT_EQ(CreateStream(0, 0, &blocking), Status::kSuccess);
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  EXPECT_EQ(Launch(kLegacyStream), Status::kSuccess);  // Non-blocking streams do not mind.
  ASSERT_EQ(BeginCapture(blocking, CaptureMode::kGlobal), Status::kSuccess);
  EXPECT_EQ(Launch(kLegacyStream), Status::kCaptureImplicit);
  Graph* graph = nullptr;
  EXPECT_EQ(EndCapture(blocking, &graph), Status::kCaptureInvalidated);
  EXPECT_EQ(EndCapture(first_, &graph), Status::kSuccess);
  EXPECT_TRUE(graph->nodes.empty());
  DestroyGraph(*graph);
  DestroyStream(blocking);
}

TEST_F(CaptureTest, DependenciesCanBeChanged) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  CaptureInfo info;
  ASSERT_EQ(GetCaptureInfo(first_, &info), Status::kSuccess);
  ASSERT_EQ(info.dependency_count, 1u);
  GraphNode* node = info.dependencies[0];
  ASSERT_EQ(UpdateCaptureDependencies(first_, {}, true), Status::kSuccess);
  ASSERT_EQ(Launch(first_), Status::kSuccess);
  ASSERT_EQ(UpdateCaptureDependencies(first_, {&node, 1}, false), Status::kSuccess);
  Graph* graph = nullptr;
  ASSERT_EQ(EndCapture(first_, &graph), Status::kSuccess);

  EXPECT_EQ(graph->EdgeCount(), 0u);
  DestroyGraph(*graph);
}

TEST_F(CaptureTest, CollectivesBecomeTemplates) {
  ASSERT_EQ(BeginCapture(first_, CaptureMode::kGlobal), Status::kSuccess);
  ring::CommunicationOp op{};
  op.count = 1000;
  op.payload_bytes = 4;
  ASSERT_EQ(SubmitCommunication(first_, 7, 3, {&op, 1}, std::as_bytes(std::span("abc"))),
            Status::kSuccess);
  Graph* graph = nullptr;
  ASSERT_EQ(EndCapture(first_, &graph), Status::kSuccess);

  const auto records = agent_.RecordsOf(RecordKind::kCommunication);
  ASSERT_EQ(records.size(), 1u);
  const auto& record = records[0].As<ring::CommunicationRecord>();
  EXPECT_NE(record.template_id, 0u);
  EXPECT_EQ(record.communicator, 7u);
  EXPECT_EQ(record.payload_bytes, 0u);
  EXPECT_EQ(graph->nodes[0]->kind, ring::GraphNodeKind::kCommunication);
  EXPECT_EQ(graph->nodes[0]->id, record.template_id);
  DestroyGraph(*graph);
}

}  // namespace
}  // namespace eidolon::shim::gpu
