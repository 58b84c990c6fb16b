#include "shim/vendor/cuda_runtime/graph.h"

#include <gtest/gtest.h>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime/capture.h"
#include "shim/vendor/cuda_runtime/library.h"

namespace eidolon::shim::cuda_runtime {
namespace {

using core::FakeAgent;

class RuntimeGraphTest : public testing::Test {
 protected:
  RuntimeGraphTest() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    gpu::StreamHandle stream = nullptr;
    EXPECT_EQ(gpu::CreateStream(1, 0, &stream), gpu::Status::kSuccess);
    stream_ = static_cast<cudaStream_t>(stream);
    EXPECT_EQ(library::LoadData(&library_, gpu::SampleFatBinary().data(), nullptr, nullptr, 0,
                                nullptr, nullptr, 0),
              cudaSuccess);
    EXPECT_EQ(library::GetKernel(&kernel_, library_, "scale"), cudaSuccess);
    agent_.Reset();
  }
  ~RuntimeGraphTest() override {
    library::Unload(library_);
    gpu::DestroyStream(stream_);
  }

  cudaKernelNodeParams Params(unsigned blocks) {
    cudaKernelNodeParams params = {};
    params.func = kernel_;
    params.gridDim = blocks;
    params.blockDim = 32;
    params.kernelParams = arguments_;
    return params;
  }

  FakeAgent& agent_;
  cudaStream_t stream_ = nullptr;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
  std::uint64_t out_ = 0;
  float factor_ = 1;
  unsigned count_ = 7;
  void* arguments_[3] = {&out_, &factor_, &count_};
};

TEST_F(RuntimeGraphTest, CanBeBuiltNodeByNode) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(graph::Create(&graph, 0u), cudaSuccess);
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
  const cudaKernelNodeParams params = Params(3);
  ASSERT_EQ(graph::AddKernel(&first, graph, nullptr, 0, &params), cudaSuccess);
  ASSERT_EQ(graph::AddEmpty(&second, graph, &first, std::size_t{1}), cudaSuccess);

  std::size_t count = 0;
  EXPECT_EQ(graph::GetNodes(graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  cudaGraphNode_t from[2] = {};
  cudaGraphNode_t to[2] = {};
  cudaGraphEdgeData edges[2];
  count = 2;
  EXPECT_EQ(graph::GetEdges(graph, from, to, edges, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(from[0], first);
  EXPECT_EQ(to[0], second);
  cudaGraphNodeType type = cudaGraphNodeTypeCount;
  EXPECT_EQ(graph::GetType(second, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeEmpty);
  cudaKernelNodeParams read = {};
  EXPECT_EQ(graph::GetKernel(first, &read), cudaSuccess);
  EXPECT_EQ(read.gridDim.x, 3u);
  EXPECT_EQ(*static_cast<unsigned*>(read.kernelParams[2]), 7u);
  EXPECT_EQ(graph::Destroy(graph), cudaSuccess);
  EXPECT_EQ(graph::Destroy(graph), cudaErrorInvalidValue);
}

TEST_F(RuntimeGraphTest, ExecsTakeNewParameters) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(graph::Create(&graph, 0u), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  cudaKernelNodeParams params = Params(3);
  ASSERT_EQ(graph::AddKernel(&node, graph, nullptr, 0, &params), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(graph::Instantiate(&exec, graph, 0ull), cudaSuccess);
  params.gridDim = 5;
  ASSERT_EQ(graph::SetExecKernel(exec, node, &params), cudaSuccess);
  ASSERT_EQ(graph::Launch(exec, stream_), cudaSuccess);

  const auto defines = agent_.RecordsOf(ring::RecordKind::kGraphDefine);
  ASSERT_EQ(defines.size(), 2u);
  const auto work_of = [](const FakeAgent::Record& record) {
    return reinterpret_cast<const ring::GraphNode*>(&record.As<ring::GraphDefine>() + 1)->id;
  };
  EXPECT_NE(work_of(defines[0]), work_of(defines[1]));
  EXPECT_EQ(graph::DestroyExec(exec), cudaSuccess);
  EXPECT_EQ(graph::Launch(exec, stream_), cudaErrorInvalidValue);
  graph::Destroy(graph);
}

TEST_F(RuntimeGraphTest, CaptureTellsItsState) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  ASSERT_EQ(capture::IsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  ASSERT_EQ(capture::Begin(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  unsigned long long id = 0;
  cudaGraph_t inner = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 9;
  ASSERT_EQ(capture::GetInfo(stream_, &status, &id, &inner, &dependencies, &edges, &count),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(count, 0u);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(capture::End(stream_, &graph), cudaSuccess);
  EXPECT_EQ(graph, inner);
  EXPECT_EQ(capture::End(stream_, &graph), cudaErrorIllegalState);
  graph::Destroy(inner);
}

TEST_F(RuntimeGraphTest, UpdateNamesTheDifference) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(graph::Create(&graph, 0u), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(graph::Instantiate(&exec, graph, 0ull), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(graph::AddEmpty(&node, graph, nullptr, std::size_t{0}), cudaSuccess);
  cudaGraphExecUpdateResultInfo info = {};

  EXPECT_EQ(graph::Update(exec, graph, &info), cudaErrorGraphExecUpdateFailure);

  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  graph::DestroyExec(exec);
  graph::Destroy(graph);
}

}  // namespace
}  // namespace eidolon::shim::cuda_runtime
