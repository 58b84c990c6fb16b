#include "shim/gpu/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"

namespace eidolon::shim::gpu {
namespace {

using core::FakeAgent;
using ring::RecordKind;

class GraphTest : public testing::Test {
 protected:
  GraphTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    EXPECT_EQ(LoadImage(SampleFatBinary().data(), &library_), Status::kSuccess);
    EXPECT_EQ(library_->FindKernel("nothing", &kernel_), Status::kSuccess);
    EXPECT_EQ(CreateGraph(&graph_), Status::kSuccess);
    EXPECT_EQ(CreateStream(1, 0, &stream_), Status::kSuccess);
    agent_.Reset();
  }
  ~GraphTest() override {
    DestroyGraph(*graph_);
    DestroyStream(stream_);
    library_->Unload();
  }

  GraphNode* Add(Graph& graph, std::vector<GraphNode*> dependencies, std::uint32_t blocks = 1) {
    GraphNode* node = nullptr;
    EXPECT_EQ(AddKernelNode(graph, dependencies, *kernel_, {{blocks, 1, 1}, {32, 1, 1}}, {}, &node),
              Status::kSuccess);
    return node;
  }
  // The dependencies of each node of the last definition in the ring.
  std::vector<std::vector<std::uint32_t>> DefinedDependencies() {
    const auto record = agent_.RecordsOf(RecordKind::kGraphDefine).back();
    const auto& define = record.As<ring::GraphDefine>();
    const auto* nodes = reinterpret_cast<const ring::GraphNode*>(&define + 1);
    const auto* edges = reinterpret_cast<const std::uint32_t*>(nodes + define.node_count);
    std::vector<std::vector<std::uint32_t>> all;
    for (std::uint32_t i = 0; i < define.node_count; ++i) {
      const std::uint32_t* first = edges + nodes[i].first_dependency;
      all.emplace_back(first, first + nodes[i].dependency_count);
    }
    return all;
  }

  FakeAgent& agent_;
  Library* library_ = nullptr;
  Kernel* kernel_ = nullptr;
  Graph* graph_ = nullptr;
  StreamHandle stream_ = nullptr;
};

TEST_F(GraphTest, DefinesNodesBehindTheirDependencies) {
  GraphNode* last = Add(*graph_, {});
  GraphNode* first = Add(*graph_, {});
  ASSERT_EQ(AddDependencies(*graph_, {&first, 1}, {&last, 1}), Status::kSuccess);
  EXPECT_EQ(AddDependencies(*graph_, {&last, 1}, {&first, 1}), Status::kInvalidValue);  // A circle.
  GraphExec* exec = nullptr;

  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);

  EXPECT_EQ(DefinedDependencies(), (std::vector<std::vector<std::uint32_t>>{{}, {0}}));
  EXPECT_EQ(DeviceOperationsOf(exec->ring_graph), 2u);
  DestroyExec(*exec);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kGraphDestroy).size(), 1u);
}

TEST_F(GraphTest, OpensUpChildGraphs) {
  Graph* child = nullptr;
  ASSERT_EQ(CreateGraph(&child), Status::kSuccess);
  Add(*child, {});
  Add(*child, {});
  GraphNode* before = Add(*graph_, {});
  GraphNode& middle = graph_->Add(NodeType::kGraph, {&before, 1});
  Graph* copy = nullptr;
  ASSERT_EQ(CloneGraph(*child, &copy), Status::kSuccess);
  middle.Adopt(std::unique_ptr<Graph>(copy));
  Add(*graph_, {&middle});
  GraphExec* exec = nullptr;

  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);

  EXPECT_EQ(DefinedDependencies(), (std::vector<std::vector<std::uint32_t>>{{}, {0}, {0}, {1, 2}}));
  DestroyExec(*exec);
  DestroyGraph(*child);
}

TEST_F(GraphTest, UpdatesTakeNewParametersButNotANewShape) {
  Add(*graph_, {}, 1);
  GraphExec* exec = nullptr;
  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);
  Graph* other = nullptr;
  ASSERT_EQ(CreateGraph(&other), Status::kSuccess);
  GraphNode* changed = Add(*other, {}, 9);
  EXPECT_EQ(UpdateExec(*exec, *other).result, UpdateResult::kSuccess);
  ASSERT_EQ(LaunchGraph(*exec, stream_), Status::kSuccess);
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kGraphDefine).size(), 2u);

  GraphNode* extra = Add(*other, {changed});
  EXPECT_EQ(UpdateExec(*exec, *other).result, UpdateResult::kTopologyChanged);
  ASSERT_EQ(DestroyNode(*extra), Status::kSuccess);
  ASSERT_EQ(DestroyNode(*changed), Status::kSuccess);
  GraphNode& empty = other->Add(NodeType::kEmpty, {});
  const UpdateAnswer answer = UpdateExec(*exec, *other);
  EXPECT_EQ(answer.result, UpdateResult::kNodeTypeChanged);
  EXPECT_EQ(answer.node, &empty);
  DestroyExec(*exec);
  DestroyGraph(*other);
}

TEST_F(GraphTest, NodesOfAChildGraphAreFoundAfterAnUpdate) {
  const auto adopt = [&](Graph& graph, std::uint32_t blocks) {
    auto child = std::make_unique<Graph>();
    GraphNode* inner = Add(*child, {}, blocks);
    graph.Add(NodeType::kGraph, {}).Adopt(std::move(child));
    return inner;
  };
  const GraphNode* inner = adopt(*graph_, 1);
  GraphExec* exec = nullptr;
  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);
  const GraphNode* before = ExecNode(*exec, inner);
  ASSERT_NE(before, nullptr);
  const std::uint64_t number = before->number;
  Graph* other = nullptr;
  ASSERT_EQ(CreateGraph(&other), Status::kSuccess);
  adopt(*other, 9);

  ASSERT_EQ(UpdateExec(*exec, *other).result, UpdateResult::kSuccess);

  const GraphNode* after = ExecNode(*exec, inner);
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->number, number);
  EXPECT_EQ(std::get<KernelNode>(after->content).shape.grid.x, 9u);
  Add(*other->nodes[0]->child, {});
  const UpdateAnswer answer = UpdateExec(*exec, *other);
  EXPECT_EQ(answer.result, UpdateResult::kTopologyChanged);
  EXPECT_EQ(answer.node, other->nodes[0].get());
  DestroyExec(*exec);
  DestroyGraph(*other);
}

TEST_F(GraphTest, RunsOnTheDeviceOfTheStreamItIsLaunchedOn) {
  const auto devices = [&](RecordKind kind) {
    std::vector<int> seen;
    for (const auto& record : agent_.RecordsOf(kind)) seen.push_back(record.header().device);
    return seen;
  };
  Add(*graph_, {});
  GraphExec* exec = nullptr;
  ASSERT_EQ(SetDevice(1), Status::kSuccess);
  StreamHandle elsewhere = nullptr;
  ASSERT_EQ(CreateStream(1, 0, &elsewhere), Status::kSuccess);

  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);
  EXPECT_THAT(devices(RecordKind::kGraphDefine), testing::ElementsAre(1));
  ASSERT_EQ(LaunchGraph(*exec, elsewhere), Status::kSuccess);
  ASSERT_EQ(LaunchGraph(*exec, stream_), Status::kSuccess);

  EXPECT_THAT(devices(RecordKind::kGraphDefine), testing::ElementsAre(1, 0));
  EXPECT_THAT(devices(RecordKind::kGraphLaunch), testing::ElementsAre(1, 0));
  EXPECT_EQ(agent_.RecordsOf(RecordKind::kGraphDestroy).size(), 1u);
  DestroyExec(*exec);
  DestroyStream(elsewhere);
  SetDevice(0);
}

TEST_F(GraphTest, HostNodesRunAtEveryLaunch) {
  static int calls = 0;
  GraphNode& node = graph_->Add(NodeType::kHost, {});
  node.kind = ring::GraphNodeKind::kHostCallback;
  node.content = HostNode{[](void* data) { ++*static_cast<int*>(data); }, &calls};
  GraphExec* exec = nullptr;
  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);

  for (int i = 0; i < 3; ++i) ASSERT_EQ(LaunchGraph(*exec, stream_), Status::kSuccess);
  ASSERT_EQ(SynchronizeStream(stream_), Status::kSuccess);

  EXPECT_EQ(calls, 3);
  DestroyExec(*exec);
}

TEST_F(GraphTest, KeepsUserObjectsAlive) {
  static int destroyed = 0;
  UserObject* object = nullptr;
  ASSERT_EQ(CreateUserObject(
                &destroyed, [](void* data) { ++*static_cast<int*>(data); }, 1, &object),
            Status::kSuccess);
  ASSERT_EQ(graph_->users.Add(*object, 1, true), Status::kSuccess);
  GraphExec* exec = nullptr;
  ASSERT_EQ(InstantiateGraph(*graph_, 0, &exec), Status::kSuccess);
  ASSERT_EQ(graph_->users.Remove(*object, 1), Status::kSuccess);
  EXPECT_EQ(destroyed, 0);

  DestroyExec(*exec);

  EXPECT_EQ(destroyed, 1);
}

TEST_F(GraphTest, PrintsItselfForGraphviz) {
  GraphNode* node = Add(*graph_, {});
  Add(*graph_, {node});
  const std::string path = testing::TempDir() + "/eidolon-graph.dot";
  ASSERT_EQ(PrintGraph(*graph_, path.c_str()), Status::kSuccess);

  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(text.find("\"node_0\" -> \"node_1\""), std::string::npos) << text;
  EXPECT_NE(text.find("nothing"), std::string::npos);
  EXPECT_EQ(PrintGraph(*graph_, "/nonexistent/folder/file"), Status::kInvalidValue);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace eidolon::shim::gpu
