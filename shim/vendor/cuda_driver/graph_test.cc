// Graphs that are built node by node, as XLA builds them.
#include "shim/vendor/cuda_driver/graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/vendor/cuda_driver/copy.h"
#include "shim/vendor/cuda_driver/memory.h"
#include "shim/vendor/cuda_driver/module.h"

namespace eidolon::shim::cuda_driver {
namespace {

using core::FakeAgent;
using ring::RecordKind;

class DriverGraphTest : public testing::Test {
 protected:
  DriverGraphTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    EXPECT_EQ(memory::Allocate(&memory_, 4096), CUDA_SUCCESS);
    EXPECT_EQ(module::LoadData(&module_, gpu::SampleFatBinary().data()), CUDA_SUCCESS);
    EXPECT_EQ(module::GetFunction(&scale_, module_, "scale"), CUDA_SUCCESS);
    gpu::StreamHandle stream = nullptr;
    EXPECT_EQ(gpu::CreateStream(1, 0, &stream), gpu::Status::kSuccess);
    stream_ = static_cast<CUstream>(stream);
    EXPECT_EQ(graph::Create(&graph_, 0u), CUDA_SUCCESS);
    agent_.Reset();
  }
  ~DriverGraphTest() override {
    graph::Destroy(graph_);
    gpu::DestroyStream(stream_);
    module::Unload(module_);
    memory::Free(memory_);
  }

  CUgraphNodeParams KernelParams(unsigned blocks) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_KERNEL;
    params.kernel.func = scale_;
    params.kernel.gridDimX = blocks;
    params.kernel.gridDimY = params.kernel.gridDimZ = 1;
    params.kernel.blockDimX = 32;
    params.kernel.blockDimY = params.kernel.blockDimZ = 1;
    params.kernel.kernelParams = arguments_;
    return params;
  }
  CUgraphNodeParams CopyParams(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = target;
    copy.srcDevice = source;
    copy.WidthInBytes = bytes;
    copy.Height = copy.Depth = 1;
    return params;
  }
  CUgraphNodeParams FillParams(CUdeviceptr target, unsigned value, size_t words) {
    CUgraphNodeParams params = {};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset = {target, 0, value, 4, words, 1, nullptr};
    return params;
  }
  CUgraphNode Add(CUgraph graph, const std::vector<CUgraphNode>& behind, CUgraphNodeParams params) {
    CUgraphNode node = nullptr;
    EXPECT_EQ(graph::Add2(&node, graph, behind.data(), nullptr, behind.size(), &params),
              CUDA_SUCCESS);
    return node;
  }
  // Launches the exec and waits for it.
  void Run(CUgraphExec exec) {
    EXPECT_EQ(graph::Launch(exec, stream_), CUDA_SUCCESS);
    EXPECT_EQ(gpu::SynchronizeStream(stream_), gpu::Status::kSuccess);
  }
  std::vector<unsigned> Words(CUdeviceptr from, size_t count) {
    std::vector<unsigned> words(count);
    EXPECT_EQ(copy::DeviceToHost(words.data(), from, count * 4), CUDA_SUCCESS);
    return words;
  }
  // The nodes of the last definition in the ring.
  std::vector<ring::GraphNode> Defined() {
    const auto record = agent_.RecordsOf(RecordKind::kGraphDefine).back();
    const auto& define = record.As<ring::GraphDefine>();
    const auto* nodes = reinterpret_cast<const ring::GraphNode*>(&define + 1);
    return {nodes, nodes + define.node_count};
  }

  FakeAgent& agent_;
  CUdeviceptr memory_ = 0;
  CUmodule module_ = nullptr;
  CUfunction scale_ = nullptr;
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUdeviceptr out_ = 0;
  float factor_ = 2;
  unsigned count_ = 0;
  void* arguments_[3] = {&out_, &factor_, &count_};
};

TEST_F(DriverGraphTest, CopiesAndMemsetsAreWorkThatMovesBytes) {
  CUgraphNode fill = Add(graph_, {}, FillParams(memory_, 7, 4));
  CUgraphNode copy = Add(graph_, {fill}, CopyParams(memory_ + 1024, memory_, 16));
  CUgraphExec exec = nullptr;
  ASSERT_EQ(graph::Instantiate(&exec, graph_, 0ull), CUDA_SUCCESS);
  const auto kind = [&](std::size_t node) {
    const auto bytes = agent_.Work(Defined()[node].id);
    workload::Copy work{};
    std::memcpy(&work, bytes.data(), sizeof(work));
    EXPECT_EQ(work.bytes, 16u);
    return work.kind;
  };

  EXPECT_EQ(kind(0), workload::CopyKind::kMemset);
  EXPECT_EQ(kind(1), workload::CopyKind::kDeviceToDevice);
  Run(exec);
  EXPECT_EQ(Words(memory_ + 1024, 4), std::vector<unsigned>(4, 7));

  CUgraphNodeParams changed = FillParams(memory_, 9, 4);
  ASSERT_EQ(graph::SetExec(exec, fill, &changed), CUDA_SUCCESS);
  Run(exec);
  EXPECT_EQ(Words(memory_ + 1024, 4), std::vector<unsigned>(4, 9));
  CUDA_MEMCPY3D read = {};
  EXPECT_EQ(graph::GetMemcpy(copy, &read), CUDA_SUCCESS);
  EXPECT_EQ(read.WidthInBytes, 16u);
  CUDA_MEMSET_NODE_PARAMS filled = {};
  EXPECT_EQ(graph::GetMemset(copy, &filled), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(graph::GetMemset(fill, &filled), CUDA_SUCCESS);
  EXPECT_EQ(filled.value, 7u);
  graph::DestroyExec(exec);
}

TEST_F(DriverGraphTest, NodesThatCannotBeAreRefused) {
  CUgraphNode node = nullptr;
  const auto add = [&](CUgraphNodeParams params) {
    return graph::Add(&node, graph_, nullptr, 0, &params);
  };
  CUgraphNodeParams odd = FillParams(memory_, 1, 4);
  odd.memset.elementSize = 3;
  CUgraphNodeParams conditional = {};
  conditional.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;

  EXPECT_EQ(add(odd), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(FillParams(memory_ + 4096, 1, 1)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(CopyParams(memory_ + 4090, memory_, 7)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(conditional), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(graph::Add(&node, graph_, nullptr, 0, nullptr), CUDA_ERROR_INVALID_VALUE);
  std::size_t count = 9;
  EXPECT_EQ(graph::GetNodes(graph_, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 0u);
}

TEST_F(DriverGraphTest, AKernelMayFollowByAProgrammaticEdge) {
  CUgraphNode first = Add(graph_, {}, KernelParams(1));
  CUgraphNode second = nullptr;
  CUgraphNodeParams params = KernelParams(2);
  CUgraphEdgeData edge = {};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  EXPECT_EQ(graph::Add2(&second, graph_, &first, &edge, 1, &params), CUDA_ERROR_INVALID_VALUE);
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;

  ASSERT_EQ(graph::Add2(&second, graph_, &first, &edge, 1, &params), CUDA_SUCCESS);

  std::size_t count = 1;
  CUgraphNode before = nullptr;
  EXPECT_EQ(graph::GetDependencies(second, &before, &count), CUDA_SUCCESS);
  EXPECT_EQ(before, first);
}

TEST_F(DriverGraphTest, AMovedChildIsChangedInTheExec) {
  CUgraph child = nullptr;
  ASSERT_EQ(graph::Create(&child, 0u), CUDA_SUCCESS);
  CUgraphNode inner = Add(child, {}, FillParams(memory_, 1, 1));
  CUgraphNodeParams params = {};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  CUgraphNode node = Add(graph_, {}, params);
  CUgraph seen = nullptr;
  EXPECT_EQ(graph::GetChild(node, &seen), CUDA_SUCCESS);
  EXPECT_EQ(seen, child);
  EXPECT_EQ(graph::Destroy(child), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(graph::Instantiate(&exec, child, 0ull), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(graph::Instantiate(&exec, graph_, 0ull), CUDA_SUCCESS);

  const CUDA_MEMSET_NODE_PARAMS changed = {memory_, 0, 5, 4, 1, 1};
  ASSERT_EQ(graph::SetExecMemset(exec, inner, &changed, nullptr), CUDA_SUCCESS);
  Run(exec);

  EXPECT_EQ(Words(memory_, 1), std::vector<unsigned>{5});
  graph::DestroyExec(exec);
}

TEST_F(DriverGraphTest, AttributesOutliveNewParameters) {
  CUgraphNode node = Add(graph_, {}, KernelParams(4));
  CUgraphNode other = Add(graph_, {}, KernelParams(4));
  CUkernelNodeAttrValue value = {};
  value.clusterDim = {2, 1, 1};
  ASSERT_EQ(graph::SetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value), CUDA_SUCCESS);
  value = {};
  value.priority = -3;
  ASSERT_EQ(graph::SetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
  EXPECT_EQ(graph::SetAttribute(node, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
            CUDA_ERROR_NOT_SUPPORTED);
  CUgraphNodeParams params = KernelParams(8);

  ASSERT_EQ(graph::Set(node, &params), CUDA_SUCCESS);
  ASSERT_EQ(graph::CopyAttributes(other, node), CUDA_SUCCESS);

  CUDA_KERNEL_NODE_PARAMS_v2 read = {};
  EXPECT_EQ(graph::GetKernel(node, &read), CUDA_SUCCESS);
  EXPECT_EQ(read.gridDimX, 8u);
  for (CUgraphNode each : {node, other}) {
    EXPECT_EQ(graph::GetAttribute(each, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
              CUDA_SUCCESS);
    EXPECT_EQ(value.clusterDim.x, 2u);
    EXPECT_EQ(graph::GetAttribute(each, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
    EXPECT_EQ(value.priority, -3);
  }
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
