#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime_12/capture.h"
#include "shim/vendor/cuda_runtime_12/copy.h"
#include "shim/vendor/cuda_runtime_12/device.h"
#include "shim/vendor/cuda_runtime_12/device_properties.h"
#include "shim/vendor/cuda_runtime_12/graph.h"
#include "shim/vendor/cuda_runtime_12/handlers.h"
#include "shim/vendor/cuda_runtime_12/memory.h"

namespace eidolon::shim::cuda_runtime_12 {
namespace {

using core::FakeAgent;

class Runtime12Test : public testing::Test {
 protected:
  Runtime12Test() : agent_(FakeAgent::Start()) {
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
    gpu::StreamHandle stream = nullptr;
    EXPECT_EQ(gpu::CreateStream(1, 0, &stream), gpu::Status::kSuccess);
    stream_ = static_cast<cudaStream_t>(stream);
  }
  ~Runtime12Test() override { gpu::DestroyStream(stream_); }

  FakeAgent& agent_;
  cudaStream_t stream_ = nullptr;
};

TEST_F(Runtime12Test, PropertiesStandWhereCuda12LooksForThem) {
  DeviceProperties older;
  cudaDeviceProp newer;
  ASSERT_EQ(device::GetProperties(reinterpret_cast<cudaDeviceProp*>(&older), 0), cudaSuccess);
  ASSERT_EQ(cuda_runtime::device::GetProperties(&newer, 0), cudaSuccess);

  EXPECT_EQ(std::string_view(older.name), newer.name);
  EXPECT_EQ(older.totalGlobalMem, newer.totalGlobalMem);
  EXPECT_EQ(older.multiProcessorCount, newer.multiProcessorCount);
  EXPECT_EQ(older.l2CacheSize, newer.l2CacheSize);
  EXPECT_EQ(older.major, newer.major);
  EXPECT_EQ(older.sharedMemPerBlockOptin, newer.sharedMemPerBlockOptin);
  EXPECT_EQ(older.clusterLaunch, newer.clusterLaunch);
  EXPECT_EQ(older.unifiedFunctionPointers, 1);
  EXPECT_GT(older.clockRate, 0);
  EXPECT_GT(older.memoryClockRate, 0);
}

TEST_F(Runtime12Test, PropertiesOfAnAbsentDeviceAreRefused) {
  DeviceProperties older;
  auto* const properties = reinterpret_cast<cudaDeviceProp*>(&older);
  EXPECT_EQ(device::GetProperties(properties, 99), cudaErrorInvalidDevice);
  EXPECT_EQ(device::GetProperties(nullptr, 0), cudaErrorInvalidValue);
}

TEST_F(Runtime12Test, TheVersionIsThatOfCuda12) {
  int version = 0;
  ASSERT_EQ(device::GetRuntimeVersion(&version), cudaSuccess);
  EXPECT_EQ(version / 1000, 12);
  EXPECT_EQ(device::GetRuntimeVersion(nullptr), cudaErrorInvalidValue);
}

TEST_F(Runtime12Test, CaptureIsAskedForWithThreeOrSixParameters) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  ASSERT_EQ(cuda_runtime::capture::Begin(stream_, cudaStreamCaptureModeRelaxed), cudaSuccess);

  ASSERT_EQ(capture::GetState(stream_, &status, &id), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  std::size_t count = 99;
  unsigned long long same = 0;
  ASSERT_EQ(capture::GetInfo(stream_, &status, &same, &graph, &dependencies, &count), cudaSuccess);
  EXPECT_EQ(same, id);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(capture::UpdateDependencies(stream_, nullptr, 0, cudaStreamSetCaptureDependencies),
            cudaSuccess);

  ASSERT_EQ(cuda_runtime::capture::End(stream_, &graph), cudaSuccess);
  EXPECT_EQ(cuda_runtime::graph::Destroy(graph), cudaSuccess);
}

TEST_F(Runtime12Test, EdgesOfAGraphAreAddedAndListedWithoutEdgeData) {
  cudaGraph_t made = nullptr;
  ASSERT_EQ(cuda_runtime::graph::Create(&made, 0u), cudaSuccess);
  std::array<cudaGraphNode_t, 2> nodes = {};
  for (cudaGraphNode_t& node : nodes) {
    ASSERT_EQ(cuda_runtime::graph::AddEmpty(&node, made, nullptr, 0), cudaSuccess);
  }

  ASSERT_EQ(graph::AddDependencies(made, &nodes[0], &nodes[1], 1), cudaSuccess);
  std::size_t count = 1;
  cudaGraphNode_t from = nullptr;
  cudaGraphNode_t to = nullptr;
  ASSERT_EQ(graph::GetEdges(made, &from, &to, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(from, nodes[0]);
  EXPECT_EQ(to, nodes[1]);
  ASSERT_EQ(graph::GetDependencies(nodes[1], &from, &count), cudaSuccess);
  EXPECT_EQ(from, nodes[0]);
  ASSERT_EQ(graph::GetDependentNodes(nodes[0], &to, &count), cudaSuccess);
  EXPECT_EQ(to, nodes[1]);

  ASSERT_EQ(graph::RemoveDependencies(made, &nodes[0], &nodes[1], 1), cudaSuccess);
  ASSERT_EQ(graph::GetEdges(made, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(cuda_runtime::graph::Destroy(made), cudaSuccess);
}

TEST_F(Runtime12Test, WhatAPointerIsTakesTheBytesThatCuda12Gives) {
  constexpr std::size_t kOlderBytes = 24;
  alignas(8) std::array<std::byte, sizeof(cudaPointerAttributes)> bytes;
  bytes.fill(std::byte{0x5a});
  int host = 0;
  auto* const attributes = reinterpret_cast<cudaPointerAttributes*>(bytes.data());

  ASSERT_EQ(memory::PointerGetAttributes(attributes, &host), cudaSuccess);

  cudaPointerAttributes answer = {};
  std::memcpy(static_cast<void*>(&answer), bytes.data(), kOlderBytes);
  EXPECT_EQ(answer.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(answer.hostPointer, &host);
  for (std::size_t at = kOlderBytes; at < bytes.size(); ++at) {
    EXPECT_EQ(bytes[at], std::byte{0x5a}) << "byte " << at;
  }
  EXPECT_EQ(memory::PointerGetAttributes(nullptr, &host), cudaErrorInvalidValue);
}

TEST_F(Runtime12Test, ABatchThatFailsSaysThatNoSingleCopyDid) {
  std::size_t failed = 0;
  EXPECT_NE(copy::Copy3DBatchAsync(3, nullptr, &failed, 0, stream_), cudaSuccess);
  EXPECT_EQ(failed, SIZE_MAX);
}

TEST_F(Runtime12Test, ABatchNamesTheCopyThatIsRefused) {
  void* memory = nullptr;
  ASSERT_EQ(cuda_runtime::memory::Malloc(&memory, 4096), cudaSuccess);
  auto* const begin = static_cast<char*>(memory);
  void* targets[] = {begin, begin + 64, begin + 4032};
  void* sources[] = {begin + 128, begin + 192, begin};
  std::size_t sizes[] = {64, 64, 64};
  std::size_t failed = 0;
  const auto batch = [&] {
    return copy::CopyBatchAsync(targets, sources, sizes, 3, nullptr, nullptr, 0, &failed, stream_);
  };

  EXPECT_EQ(batch(), cudaSuccess);
  sizes[2] = 65;
  EXPECT_EQ(batch(), cudaErrorInvalidValue);
  EXPECT_EQ(failed, 2u);
  EXPECT_EQ(cuda_runtime::memory::Free(memory), cudaSuccess);
}

}  // namespace
}  // namespace eidolon::shim::cuda_runtime_12
