// The runtime's face: codes, error state, properties, entry points. What is behind it is tested in
// gpu.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "shim/core/fake_agent.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cuda_runtime/handlers.h"

namespace eidolon::shim::cuda_runtime {
namespace {

using ::testing::IsNull;
using ::testing::NotNull;

class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(device::Set(0), cudaSuccess);
    agent_.Reset();
    error_state::GetLast();
  }
  core::FakeAgent& agent_;
};

TEST_F(RuntimeTest, TheLastErrorStaysUntilAskedForAndIsPerThread) {
  EXPECT_EQ(device::Set(7), cudaErrorInvalidDevice);
  cudaError_t elsewhere = cudaErrorUnknown;
  std::thread([&elsewhere] { elsewhere = error_state::PeekLast(); }).join();

  EXPECT_EQ(elsewhere, cudaSuccess);
  EXPECT_EQ(error_state::PeekLast(), cudaErrorInvalidDevice);
  EXPECT_EQ(error_state::GetLast(), cudaErrorInvalidDevice);
  EXPECT_EQ(error_state::GetLast(), cudaSuccess);
}

TEST_F(RuntimeTest, ErrorsHaveNamesAndSentences) {
  EXPECT_STREQ(error::GetName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(error::GetString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(error::GetName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST_F(RuntimeTest, PropertiesAreTheEmulatedGpus) {
  int count = 0;
  cudaDeviceProp properties;
  EXPECT_EQ(device::GetCount(&count), cudaSuccess);
  ASSERT_EQ(device::GetProperties(&properties, 1), cudaSuccess);

  EXPECT_EQ(count, 2);
  EXPECT_STREQ(properties.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.multiProcessorCount, 132);
  EXPECT_EQ(properties.totalGlobalMem, std::size_t{80} << 30);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 232448u);
}

TEST_F(RuntimeTest, PciIdsRoundTrip) {
  char text[16];
  int found = -1;
  EXPECT_EQ(device::GetPciBusId(text, sizeof(text), 1), cudaSuccess);
  EXPECT_STREQ(text, "0000:1C:00.0");
  EXPECT_EQ(device::GetByPciBusId(&found, text), cudaSuccess);
  EXPECT_EQ(found, 1);
  EXPECT_EQ(device::GetByPciBusId(&found, "0000:77:00.0"), cudaErrorInvalidDevice);
}

TEST_F(RuntimeTest, LimitsAreKept) {
  size_t value = 0;
  EXPECT_EQ(device::GetLimit(&value, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(value, 1024u);
  EXPECT_EQ(device::SetLimit(cudaLimitMallocHeapSize, 123), cudaSuccess);
  EXPECT_EQ(device::GetLimit(&value, cudaLimitMallocHeapSize), cudaSuccess);
  EXPECT_EQ(value, 123u);
  EXPECT_EQ(device::SetLimit(static_cast<cudaLimit>(99), 1), cudaErrorUnsupportedLimit);
}

TEST_F(RuntimeTest, PeersOfAServerReachEachOther) {
  int can = 0;
  EXPECT_EQ(device::CanAccessPeer(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(device::EnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(device::EnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(device::DisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(device::DisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST_F(RuntimeTest, MemoryIsFreedAfterADeviceWideWait) {
  void* pointer = nullptr;
  ASSERT_EQ(memory::Malloc(&pointer, 1000), cudaSuccess);
  cudaPointerAttributes attributes;
  EXPECT_EQ(memory::PointerGetAttributes(&attributes, pointer), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(memory::Free(pointer), cudaSuccess);
  EXPECT_EQ(memory::Free(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(memory::Free(nullptr), cudaSuccess);

  EXPECT_EQ(agent_.RecordsOf(ring::RecordKind::kSynchronizeDevice).size(), 2u);
}

TEST_F(RuntimeTest, OutOfMemoryIsAnErrorThatCanBeCleared) {
  void* pointer = nullptr;
  EXPECT_EQ(memory::Malloc(&pointer, std::size_t{100} << 30), cudaErrorMemoryAllocation);
  EXPECT_THAT(pointer, IsNull());
  EXPECT_EQ(error_state::GetLast(), cudaErrorMemoryAllocation);
  EXPECT_EQ(memory::Malloc(&pointer, 1000), cudaSuccess);
  memory::Free(pointer);
}

TEST_F(RuntimeTest, ZeroBytesGiveNull) {
  void* pointer = &pointer;
  EXPECT_EQ(memory::Malloc(&pointer, 0), cudaSuccess);
  EXPECT_THAT(pointer, IsNull());
}

TEST_F(RuntimeTest, HostMemoryIsKnownToTheDevice) {
  void* pointer = nullptr;
  ASSERT_EQ(memory::HostAlloc(&pointer, 4096, cudaHostAllocPortable), cudaSuccess);
  cudaPointerAttributes attributes;
  memory::PointerGetAttributes(&attributes, static_cast<char*>(pointer) + 100);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  memory::PointerGetAttributes(&attributes, &attributes);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(memory::FreeHost(pointer), cudaSuccess);
}

TEST_F(RuntimeTest, AnOwnIpcHandleIsRefusedAndAForeignOneOpens) {
  void* pointer = nullptr;
  ASSERT_EQ(memory::Malloc(&pointer, 5000), cudaSuccess);
  cudaIpcMemHandle_t handle;
  ASSERT_EQ(memory::IpcGetHandle(&handle, static_cast<char*>(pointer) + 10), cudaSuccess);
  void* opened = nullptr;
  EXPECT_EQ(memory::IpcOpenHandle(&opened, handle, 1), cudaErrorDeviceUninitialized);
  handle.reserved[32] = static_cast<char>(handle.reserved[32] ^ 0x55);  // Another process.

  EXPECT_EQ(memory::IpcOpenHandle(&opened, handle, 1), cudaSuccess);
  EXPECT_NE(opened, pointer);
  EXPECT_EQ(memory::IpcCloseHandle(opened), cudaSuccess);
  EXPECT_EQ(memory::IpcCloseHandle(opened), cudaErrorInvalidValue);
  memory::Free(pointer);
}

TEST_F(RuntimeTest, CopiesCheckTheirArguments) {
  char text[16];
  EXPECT_EQ(copy::Copy(text, text, 4, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(copy::Copy2D(text, 4, text + 8, 4, 8, 1, cudaMemcpyHostToHost),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(copy::Copy(text, text + 8, 8, cudaMemcpyHostToHost), cudaSuccess);
  EXPECT_EQ(copy::CopyToSymbol(text, text, 1, 0, cudaMemcpyDefault), cudaErrorInvalidSymbol);
}

TEST_F(RuntimeTest, VolumesAreCopiedByPitchAndHeight) {
  void* device = nullptr;
  ASSERT_EQ(memory::Malloc(&device, 4096), cudaSuccess);
  char source[] = "ab..cd..ef..gh..";
  cudaMemcpy3DBatchOp operation{};
  operation.src.type = cudaMemcpyOperandTypePointer;
  operation.src.op.ptr.ptr = source;
  operation.src.op.ptr.rowLength = 4;
  operation.src.op.ptr.layerHeight = 2;
  operation.dst.type = cudaMemcpyOperandTypePointer;
  operation.dst.op.ptr.ptr = device;
  operation.extent = {2, 1, 2};
  EXPECT_EQ(copy::Copy3DBatchAsync(1, &operation, 0, nullptr), cudaSuccess);
  char back[5] = {};
  EXPECT_EQ(copy::Copy(back, device, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_STREQ(back, "abef");
  operation.src.type = cudaMemcpyOperandTypeArray;
  EXPECT_EQ(copy::Copy3DBatchAsync(1, &operation, 0, nullptr), cudaErrorNotSupported);
  memory::Free(device);
}

TEST_F(RuntimeTest, GraphMemoryIsPoolMemory) {
  std::uint64_t value = 7;
  EXPECT_EQ(pool::GetGraphAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value), cudaSuccess);
  EXPECT_EQ(value, 0u);
  EXPECT_EQ(pool::SetGraphAttribute(0, cudaGraphMemAttrUsedMemHigh, &value), cudaSuccess);
  EXPECT_EQ(pool::SetGraphAttribute(0, cudaGraphMemAttrUsedMemCurrent, &value),
            cudaErrorInvalidValue);
  EXPECT_EQ(pool::TrimGraphs(9), cudaErrorInvalidDevice);
}

TEST_F(RuntimeTest, PoolsAreFoundByLocation) {
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t same = nullptr;
  cudaMemLocation location{cudaMemLocationTypeDevice, {1}};
  EXPECT_EQ(pool::GetDefaultAt(&pool, &location, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(pool::SetCurrentAt(&location, cudaMemAllocationTypePinned, pool), cudaSuccess);
  EXPECT_EQ(pool::GetCurrentAt(&same, &location, cudaMemAllocationTypePinned), cudaSuccess);
  EXPECT_EQ(same, pool);
  location.type = cudaMemLocationTypeHost;
  EXPECT_EQ(pool::GetDefaultAt(&pool, &location, cudaMemAllocationTypePinned),
            cudaErrorNotSupported);
}

TEST_F(RuntimeTest, PoolAttributesHaveTheirWidths) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(pool::GetDefault(&pool, 0), cudaSuccess);
  int flag[2] = {7, 7};
  EXPECT_EQ(pool::GetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, flag), cudaSuccess);
  EXPECT_EQ(flag[0], 1);
  EXPECT_EQ(flag[1], 7);
  std::uint64_t threshold = 1 << 20;
  EXPECT_EQ(pool::SetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
}

TEST_F(RuntimeTest, StreamsAndEventsAnswerQuestionsAboutThemselves) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(stream::CreateWithPriority(&stream, cudaStreamNonBlocking, -3), cudaSuccess);
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  unsigned long long legacy = 0;
  EXPECT_EQ(stream::GetFlags(stream, &flags), cudaSuccess);
  EXPECT_EQ(stream::GetPriority(stream, &priority), cudaSuccess);
  EXPECT_EQ(stream::GetId(stream, &id), cudaSuccess);
  EXPECT_EQ(stream::GetId(nullptr, &legacy), cudaSuccess);
  cudaLaunchAttributeValue value;
  EXPECT_EQ(stream::GetAttribute(stream, cudaLaunchAttributePriority, &value), cudaSuccess);

  EXPECT_EQ(flags, 1u);
  EXPECT_EQ(priority, -3);
  EXPECT_EQ(value.priority, -3);
  EXPECT_NE(id, legacy);
  EXPECT_EQ(stream::Destroy(stream), cudaSuccess);
  EXPECT_EQ(stream::Synchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(event::Record(nullptr, nullptr), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeTest, AnOldStyleCallbackGetsItsStreamAndSuccess) {
  static cudaStream_t seen;
  static cudaError_t code;
  cudaStream_t stream = nullptr;
  stream::Create(&stream);
  EXPECT_EQ(stream::AddCallback(
                stream,
                [](cudaStream_t which, cudaError_t status, void*) {
                  seen = which;
                  code = status;
                },
                nullptr, 0),
            cudaSuccess);
  EXPECT_EQ(stream::Synchronize(stream), cudaSuccess);

  EXPECT_EQ(seen, stream);
  EXPECT_EQ(code, cudaSuccess);
  stream::Destroy(stream);
  EXPECT_EQ(stream::AddCallback(
                stream, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0),
            cudaErrorInvalidResourceHandle);  // And nothing of the call is left.
}

TEST_F(RuntimeTest, DriverFunctionsAreFoundByName) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult status;
  EXPECT_EQ(device::GetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &status),
            cudaSuccess);
  EXPECT_THAT(function, NotNull());
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_EQ(device::GetDriverEntryPoint("cuNothing", &function, cudaEnableDefault, &status),
            cudaSuccess);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_THAT(function, IsNull());
}

TEST_F(RuntimeTest, ExportedRowsReachTheHandlersAndChargeTheClock) {
  const std::uint64_t before = agent_.cursors().clock_ps.value.load();
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4096), cudaSuccess);
  EXPECT_EQ(agent_.cursors().clock_ps.value.load() - before, 1'000'000u);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
}

}  // namespace
}  // namespace eidolon::shim::cuda_runtime
