// Probes single calls of the CUDA runtime as a program sees them: the same tests on the shim (under
// eidolon_lone_agent --values) and, started alone, on a real GPU. Ends with 77 where there is
// neither.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "todo_emulated.h"

namespace {

constexpr int kSkippedExit = 77;
constexpr std::size_t kBytes = 4096;

#define CALL(call) ASSERT_EQ(call, cudaSuccess) << cudaGetErrorString(cudaGetLastError())

// The device as it was found, with no error left over.
class CallsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    cudaGetLastError();
  }
};

std::vector<std::uint8_t> Counting() {
  std::vector<std::uint8_t> bytes(kBytes);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

TEST_F(CallsTest, AttributesAndPropertiesTellTheSame) {
  cudaDeviceProp properties;
  int processors = 0;
  int major = 0;
  std::size_t free = 0;
  std::size_t total = 0;

  CALL(cudaGetDeviceProperties(&properties, 0));
  CALL(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  CALL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CALL(cudaMemGetInfo(&free, &total));

  EXPECT_EQ(properties.multiProcessorCount, processors);
  EXPECT_EQ(properties.major, major);
  EXPECT_LE(total, properties.totalGlobalMem);
  EXPECT_LT(free, total);
  EXPECT_EQ(properties.warpSize, 32);
}

TEST_F(CallsTest, MemoryKeepsWhatWasCopiedToIt) {
  const std::vector<std::uint8_t> given = Counting();
  std::vector<std::uint8_t> taken(kBytes);
  std::uint8_t* one = nullptr;
  std::uint8_t* other = nullptr;
  CALL(cudaMalloc(&one, kBytes));
  CALL(cudaMalloc(&other, kBytes));

  CALL(cudaMemcpy(one, given.data(), kBytes, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy(other, one, kBytes, cudaMemcpyDeviceToDevice));
  CALL(cudaMemset(other, 7, 100));
  CALL(cudaMemcpy(taken.data(), other, kBytes, cudaMemcpyDeviceToHost));

  EXPECT_EQ(taken[0], 7);
  EXPECT_EQ(taken[99], 7);
  EXPECT_EQ(std::memcmp(&taken[100], &given[100], kBytes - 100), 0);
  CALL(cudaFree(one));
  CALL(cudaFree(other));
}

TEST_F(CallsTest, RowsAreCopiedByTheirPitch) {
  constexpr std::size_t kWidth = 100;
  constexpr std::size_t kRows = 8;
  const std::vector<std::uint8_t> given = Counting();
  std::vector<std::uint8_t> taken(kWidth * kRows);
  void* rows = nullptr;
  std::size_t pitch = 0;
  CALL(cudaMallocPitch(&rows, &pitch, kWidth, kRows));
  EXPECT_GE(pitch, kWidth);
  EXPECT_EQ(pitch % 256, 0u);

  CALL(cudaMemcpy2D(rows, pitch, given.data(), kWidth, kWidth, kRows, cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2D(taken.data(), kWidth, rows, pitch, kWidth, kRows, cudaMemcpyDeviceToHost));

  EXPECT_EQ(std::memcmp(taken.data(), given.data(), taken.size()), 0);
  CALL(cudaFree(rows));
}

TEST_F(CallsTest, AllocationsAreAlignedAndReportedAsTaken) {
  constexpr std::size_t kLarge = std::size_t{1} << 30;
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  void* large = nullptr;
  void* small = nullptr;
  CALL(cudaMemGetInfo(&before, &total));

  CALL(cudaMalloc(&large, kLarge));
  CALL(cudaMalloc(&small, 1));
  CALL(cudaMemGetInfo(&after, &total));

  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % 256, 0u);
  EXPECT_GE(before - after, kLarge);
  CALL(cudaFree(large));
  CALL(cudaFree(small));
}

TEST_F(CallsTest, MoreThanThereIsIsRefusedAndHarmsNothing) {
  void* pointer = nullptr;

  EXPECT_EQ(cudaMalloc(&pointer, std::size_t{1} << 45), cudaErrorMemoryAllocation);

  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  CALL(cudaMalloc(&pointer, kBytes));
  CALL(cudaFree(pointer));
}

TEST_F(CallsTest, CallsThatMeanNothingAreInvalid) {
  int devices = 0;
  float milliseconds = 0;
  void* pointer = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  CALL(cudaGetDeviceCount(&devices));
  CALL(cudaMalloc(&pointer, kBytes));
  CALL(cudaFree(pointer));
  CALL(cudaEventCreate(&begin));
  CALL(cudaEventCreate(&end));

  EXPECT_EQ(cudaSetDevice(devices), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaMalloc(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorInvalidResourceHandle);
  CALL(cudaEventDestroy(begin));
  CALL(cudaEventDestroy(end));
}

TEST_F(CallsTest, EventsOfAStreamFollowEachOther) {
  constexpr std::size_t kLarge = std::size_t{256} << 20;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  void* memory = nullptr;
  float milliseconds = 0;
  CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CALL(cudaEventCreate(&begin));
  CALL(cudaEventCreate(&end));
  CALL(cudaMalloc(&memory, kLarge));
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);

  CALL(cudaEventRecord(begin, stream));
  CALL(cudaMemsetAsync(memory, 1, kLarge, stream));
  CALL(cudaEventRecord(end, stream));
  CALL(cudaEventSynchronize(end));

  EXPECT_EQ(cudaEventQuery(begin), cudaSuccess);
  CALL(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GT(milliseconds, 0);
  CALL(cudaFree(memory));
  CALL(cudaStreamDestroy(stream));
}

void CountUp(void* counter) { ++*static_cast<int*>(counter); }

TEST_F(CallsTest, HostFunctionsRunInTheOrderOfTheirStreams) {
  cudaStream_t one = nullptr;
  cudaStream_t other = nullptr;
  cudaEvent_t done = nullptr;
  int count = 0;
  CALL(cudaStreamCreate(&one));
  CALL(cudaStreamCreate(&other));
  CALL(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));

  CALL(cudaLaunchHostFunc(one, CountUp, &count));
  CALL(cudaEventRecord(done, one));
  CALL(cudaStreamWaitEvent(other, done, 0));
  CALL(cudaLaunchHostFunc(other, CountUp, &count));
  CALL(cudaStreamSynchronize(other));

  EXPECT_EQ(count, 2);
  CALL(cudaStreamDestroy(one));
  CALL(cudaStreamDestroy(other));
}

TEST_F(CallsTest, PointersAreKnownByWhatTheyPointTo) {
  void* device = nullptr;
  void* pinned = nullptr;
  int own = 0;
  cudaPointerAttributes attributes;
  CALL(cudaMalloc(&device, kBytes));
  CALL(cudaMallocHost(&pinned, kBytes));

  CALL(cudaPointerGetAttributes(&attributes, static_cast<char*>(device) + 10));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  CALL(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  CALL(cudaPointerGetAttributes(&attributes, &own));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CALL(cudaFree(device));
  CALL(cudaFreeHost(pinned));
}

TEST_F(CallsTest, CapturedWorkRunsWhenItsGraphIsLaunchedAndNotBefore) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  std::size_t nodes = 0;
  std::uint8_t* memory = nullptr;
  std::uint8_t first = 9;
  CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CALL(cudaMalloc(&memory, kBytes));
  CALL(cudaMemset(memory, 0, kBytes));
  CALL(cudaDeviceSynchronize());

  CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CALL(cudaMemsetAsync(memory, 5, kBytes, stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
  CALL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CALL(cudaMemsetAsync(memory, 5, kBytes, stream));
  CALL(cudaStreamEndCapture(stream, &graph));
  CALL(cudaGraphGetNodes(graph, nullptr, &nodes));
  CALL(cudaGraphInstantiate(&executable, graph, 0));
  CALL(cudaMemcpy(&first, memory, 1, cudaMemcpyDeviceToHost));

  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(first, 0);
  CALL(cudaGraphLaunch(executable, stream));
  CALL(cudaStreamSynchronize(stream));
  CALL(cudaMemcpy(&first, memory, 1, cudaMemcpyDeviceToHost));
  EXPECT_EQ(first, 5);
  CALL(cudaGraphExecDestroy(executable));
  CALL(cudaGraphDestroy(graph));
  CALL(cudaFree(memory));
  CALL(cudaStreamDestroy(stream));
}

TEST_F(CallsTest, MemoryOfAPoolIsOfItsStream) {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  std::uint8_t last = 0;
  CALL(cudaStreamCreate(&stream));

  CALL(cudaMallocAsync(&memory, kBytes, stream));
  CALL(cudaMemsetAsync(memory, 3, kBytes, stream));
  CALL(cudaMemcpyAsync(&last, static_cast<char*>(memory) + kBytes - 1, 1, cudaMemcpyDeviceToHost,
                       stream));
  CALL(cudaFreeAsync(memory, stream));
  CALL(cudaStreamSynchronize(stream));

  EXPECT_EQ(last, 3);
  CALL(cudaStreamDestroy(stream));
}

TODO_EMULATED(CallsTodoTest, ArraysHoldTexels, "texture memory: cudaMallocArray is refused") {
  const cudaChannelFormatDesc floats = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  const float given[4] = {1, 2, 3, 4};
  float taken[4] = {};
  cudaArray_t array = nullptr;
  CALL(cudaMallocArray(&array, &floats, 4, 1, 0));
  CALL(cudaMemcpy2DToArray(array, 0, 0, given, sizeof(given), sizeof(given), 1,
                           cudaMemcpyHostToDevice));
  CALL(cudaMemcpy2DFromArray(taken, sizeof(taken), array, 0, 0, sizeof(taken), 1,
                             cudaMemcpyDeviceToHost));
  EXPECT_EQ(std::memcmp(given, taken, sizeof(given)), 0);
  CALL(cudaFreeArray(array));
}

TODO_EMULATED(CallsTodoTest, GraphsAreBuiltOfMemsetNodes,
              "nodes that a program adds itself: cudaGraphAddMemsetNode is refused") {
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  void* memory = nullptr;
  std::size_t nodes = 0;
  CALL(cudaMalloc(&memory, kBytes));
  CALL(cudaGraphCreate(&graph, 0));
  const cudaMemsetParams parameters = {
      .dst = memory, .pitch = 0, .value = 1, .elementSize = 1, .width = kBytes, .height = 1};
  CALL(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &parameters));
  CALL(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1u);
  CALL(cudaGraphDestroy(graph));
  CALL(cudaFree(memory));
}

TODO_EMULATED(CallsTodoTest, ManagedMemoryTellsWhereItIsPreferred,
              "advice for managed memory: cudaMemRangeGetAttribute is refused") {
  void* memory = nullptr;
  int location = -1;
  CALL(cudaMallocManaged(&memory, kBytes, cudaMemAttachGlobal));
  CALL(cudaMemRangeGetAttribute(&location, sizeof(location), cudaMemRangeAttributePreferredLocation,
                                memory, kBytes));
  EXPECT_EQ(location, cudaInvalidDeviceId);
  CALL(cudaFree(memory));
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "calls: there is no GPU, neither a real one nor an emulated one\n");
    return kSkippedExit;
  }
  return RUN_ALL_TESTS();
}
