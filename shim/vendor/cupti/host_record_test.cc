// Activity records of memory, pools, streams, contexts, devices, names and markers, as a flush
// gives them.
#include "shim/vendor/cupti/host_record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "services/contract/ring/host_costs.h"
#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/session.h"
#include "shim/gpu/allocation/device_memory.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/pool.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cupti/activity.h"
#include "shim/vendor/cupti/client_clock.h"
#include "shim/vendor/cupti/markers.h"

namespace eidolon::shim::cupti {
namespace {

class HostRecordTest : public ::testing::Test {
 protected:
  HostRecordTest() : agent_(core::FakeAgent::Start()) {
    agent_.Reset();
    core::Session::Get();
    activity::RegisterCallbacks(GiveBuffer, TakeBuffer);
    records_.clear();
  }
  ~HostRecordTest() override {
    activity::Finalize();
    activity::FlushAll(0);
  }

  static void GiveBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records_max) {
    *size = 1 << 16;
    buffers_.push_back(std::make_unique<std::uint8_t[]>(*size));
    *buffer = buffers_.back().get();
    *records_max = 0;
  }
  static void TakeBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                         std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (activity::GetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
      records_.push_back(record);
    }
  }
  template <typename Record>
  static std::vector<const Record*> Flushed(CUpti_ActivityKind kind) {
    EXPECT_EQ(activity::FlushAll(0), CUPTI_SUCCESS);
    std::vector<const Record*> found;
    for (const CUpti_Activity* record : records_) {
      if (record->kind == kind) found.push_back(reinterpret_cast<const Record*>(record));
    }
    return found;
  }
  // Runs the body in a call of the program.
  template <typename Body>
  static void Call(const char* function, Body&& body) {
    core::Enter(function, ring::CallClass::kAllocation, 0, [&] {
      body();
      return 0;
    });
  }

  core::FakeAgent& agent_;
  static inline std::vector<const CUpti_Activity*> records_;
  static inline std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;  // Records point into them.
};

TEST_F(HostRecordTest, AllocationsAndReleasesAreRecordsWithTheCorrelationOfTheirCall) {
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_SUCCESS);
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  std::uint64_t address = 0;
  Call("cudaMalloc", [&] {
    gpu::EnsureContext();
    EXPECT_EQ(gpu::AllocateDeviceMemory(1000, &address), gpu::Status::kSuccess);
  });
  Call("cudaFree", [&] { gpu::FreeAnyDeviceMemory(reinterpret_cast<void*>(address)); });

  const auto memory = Flushed<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  const auto calls = Flushed<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  ASSERT_EQ(memory.size(), 2u);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(memory[0]->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
  EXPECT_EQ(memory[1]->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(memory[i]->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    EXPECT_EQ(memory[i]->address, address);
    EXPECT_EQ(memory[i]->bytes, 1000u);
    EXPECT_EQ(memory[i]->contextId, 1u);
    EXPECT_EQ(memory[i]->streamId, CUPTI_INVALID_STREAM_ID);
    EXPECT_EQ(memory[i]->isAsync, 0u);
    EXPECT_EQ(memory[i]->correlationId, calls[i]->correlationId);
    EXPECT_GE(memory[i]->timestamp, calls[i]->start);
    EXPECT_LE(memory[i]->timestamp, calls[i]->end);
  }
}

TEST_F(HostRecordTest, HostMemoryIsPinnedOrManaged) {
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_SUCCESS);
  void* pinned = nullptr;
  void* managed = nullptr;
  gpu::AllocateHost(4096, 0, &pinned);
  gpu::AllocateManaged(8192, 1, &managed);
  gpu::FreeHost(pinned);
  gpu::FreeManaged(managed);

  const auto memory = Flushed<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(memory.size(), 4u);
  EXPECT_EQ(memory[0]->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
  EXPECT_EQ(memory[1]->memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
  EXPECT_EQ(memory[1]->bytes, 8192u);
  EXPECT_EQ(memory[2]->address, reinterpret_cast<std::uint64_t>(pinned));
  EXPECT_EQ(memory[2]->bytes, 4096u);
  EXPECT_EQ(memory[3]->memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
}

TEST_F(HostRecordTest, PoolsAndWhatIsTakenFromThemByStreams) {
  gpu::EnsureContext();
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MEMORY2), CUPTI_SUCCESS);
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MEMORY_POOL), CUPTI_SUCCESS);
  gpu::StreamHandle stream = nullptr;
  gpu::CreateStream(1, 0, &stream);
  gpu::PoolHandle pool = nullptr;
  std::uint64_t address = 0;
  gpu::CreatePool(0, &pool);
  gpu::SetPoolAttribute(pool, gpu::PoolAttribute::kReleaseThreshold, 1 << 30);
  gpu::AllocateFromPool(pool, 5000, stream, &address);
  gpu::FreeAsync(address, stream);
  gpu::TrimPool(pool, 0);
  gpu::DestroyPool(pool);

  const auto memory = Flushed<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  ASSERT_EQ(memory.size(), 2u);
  std::uint32_t number = 0;
  activity::GetStreamId(nullptr, static_cast<CUstream>(stream), &number);
  for (const auto* record : memory) {
    EXPECT_EQ(record->isAsync, 1u);
    EXPECT_EQ(record->streamId, number);
    EXPECT_EQ(record->bytes, 5000u);
    EXPECT_EQ(record->memoryPoolConfig.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    EXPECT_EQ(record->memoryPoolConfig.address, reinterpret_cast<std::uint64_t>(pool));
    EXPECT_EQ(record->memoryPoolConfig.releaseThreshold, 1u << 30);
    EXPECT_EQ(record->memoryPoolConfig.pool.size, 2u << 20);
  }
  EXPECT_EQ(memory[0]->memoryPoolConfig.utilizedSize, 2u << 20);
  EXPECT_EQ(memory[1]->memoryPoolConfig.utilizedSize, 0u);
  const auto pools = Flushed<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  ASSERT_EQ(pools.size(), 3u);
  EXPECT_EQ(pools[0]->memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
  EXPECT_EQ(pools[1]->memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  EXPECT_EQ(pools[2]->memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  EXPECT_EQ(pools[1]->size, 0u);
  EXPECT_EQ(pools[0]->address, pools[2]->address);
  gpu::DestroyStream(stream);
}

TEST_F(HostRecordTest, EveryDeviceIsDescribed) {
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_DEVICE), CUPTI_SUCCESS);

  const auto devices = Flushed<CUpti_ActivityDevice6>(CUPTI_ACTIVITY_KIND_DEVICE);
  ASSERT_EQ(devices.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const ring::DeviceProperties& properties = gpu::PropertiesOf(static_cast<int>(i));
    EXPECT_EQ(devices[i]->id, i);
    EXPECT_STREQ(devices[i]->name, properties.name);
    EXPECT_EQ(devices[i]->numMultiprocessors, properties.multiprocessors);
    EXPECT_EQ(devices[i]->globalMemorySize, properties.memory_bytes);
    EXPECT_EQ(devices[i]->computeCapabilityMajor, properties.compute_major);
    std::free(const_cast<char*>(devices[i]->name));
  }
}

TEST_F(HostRecordTest, ContextsAndStreamsAreDescribedOnce) {
  gpu::SetDevice(0);
  gpu::EnsureContext();
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_CONTEXT), CUPTI_SUCCESS);
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_STREAM), CUPTI_SUCCESS);
  gpu::StreamHandle stream = nullptr;
  gpu::CreateStream(1, -3, &stream);
  gpu::PrimaryContext(1);
  gpu::PrimaryContext(1);

  const auto contexts = Flushed<CUpti_ActivityContext4>(CUPTI_ACTIVITY_KIND_CONTEXT);
  ASSERT_EQ(contexts.size(), 2u);
  EXPECT_EQ(contexts[0]->deviceId, 0u);
  EXPECT_EQ(contexts[0]->contextId, 1u);
  EXPECT_EQ(contexts[0]->nullStreamId, 7u);
  EXPECT_EQ(contexts[1]->deviceId, 1u);
  const auto streams = Flushed<CUpti_ActivityStream>(CUPTI_ACTIVITY_KIND_STREAM);
  ASSERT_EQ(streams.size(), 3u);
  EXPECT_EQ(streams[0]->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
  EXPECT_EQ(streams[0]->streamId, 7u);
  std::uint32_t number = 0;
  activity::GetStreamId(nullptr, static_cast<CUstream>(stream), &number);
  EXPECT_EQ(streams[1]->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
  EXPECT_EQ(streams[1]->streamId, number);
  EXPECT_EQ(static_cast<int>(streams[1]->priority), -3);
  EXPECT_EQ(streams[2]->contextId, 2u);
  gpu::DestroyStream(stream);
}

TEST_F(HostRecordTest, MarkersHaveABeginningAnEndAndWhatTheProgramSaysOfThem) {
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MARKER), CUPTI_SUCCESS);
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_MARKER_DATA), CUPTI_SUCCESS);
  auto* const domain =
      reinterpret_cast<nvtxDomainHandle_t>(const_cast<std::string*>(markers::Keep("mine")));
  nvtxEventAttributes_t event{};
  event.category = 3;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -5;
  markers::Push(1, "outer", {});
  markers::Push(2, "inner", {.domain = domain, .event = &event});
  markers::Pop(nullptr);
  markers::Pop(domain);
  markers::Pop(domain);  // Nothing is open.
  markers::Start(3, "copy", {});
  markers::Mark(4, "here", {});
  markers::End(3, nullptr);

  const auto marks = Flushed<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER);
  struct Mark {
    CUpti_ActivityFlag flags;
    std::uint32_t id;
    const char* name;
    const char* domain;
  };
  const Mark expected[] = {{CUPTI_ACTIVITY_FLAG_MARKER_START, 1, "outer", nullptr},
                           {CUPTI_ACTIVITY_FLAG_MARKER_START, 2, "inner", "mine"},
                           {CUPTI_ACTIVITY_FLAG_MARKER_END, 1, nullptr, nullptr},
                           {CUPTI_ACTIVITY_FLAG_MARKER_END, 2, nullptr, "mine"},
                           {CUPTI_ACTIVITY_FLAG_MARKER_START, 3, "copy", nullptr},
                           {CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, 4, "here", nullptr},
                           {CUPTI_ACTIVITY_FLAG_MARKER_END, 3, nullptr, nullptr}};
  ASSERT_EQ(marks.size(), std::size(expected));
  for (std::size_t i = 0; i < marks.size(); ++i) {
    EXPECT_EQ(marks[i]->flags, expected[i].flags) << i;
    EXPECT_EQ(marks[i]->id, expected[i].id) << i;
    EXPECT_STREQ(marks[i]->name, expected[i].name) << i;
    EXPECT_STREQ(marks[i]->domain, expected[i].domain) << i;
    EXPECT_GE(marks[i]->timestamp, marks[i == 0 ? 0 : i - 1]->timestamp) << i;
  }
  const auto data = Flushed<CUpti_ActivityMarkerData2>(CUPTI_ACTIVITY_KIND_MARKER_DATA);
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(data[0]->id, 2u);
  EXPECT_EQ(data[0]->flags, CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB);
  EXPECT_EQ(data[0]->color, 0xff00ff00);
  EXPECT_EQ(data[0]->category, 3u);
  EXPECT_EQ(data[0]->payloadKind, CUPTI_METRIC_VALUE_KIND_INT64);
  EXPECT_EQ(data[0]->payload.metricValueInt64, -5);
}

TEST_F(HostRecordTest, NamesSayWhatTheyName) {
  gpu::SetDevice(0);
  gpu::EnsureContext();
  ASSERT_EQ(activity::Enable(CUPTI_ACTIVITY_KIND_NAME), CUPTI_SUCCESS);
  markers::NameThread(42, "loader");
  markers::NameDevice(1, "second");
  markers::NameStream(nullptr, "main");
  markers::NameStream(reinterpret_cast<CUstream>(std::uintptr_t{0x1234}), "none");
  markers::Push(1, "unwanted", {});

  const auto names = Flushed<CUpti_ActivityName>(CUPTI_ACTIVITY_KIND_NAME);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0]->objectKind, CUPTI_ACTIVITY_OBJECT_THREAD);
  EXPECT_EQ(names[0]->objectId.pt.threadId, 42u);
  EXPECT_STREQ(names[0]->name, "loader");
  EXPECT_EQ(names[1]->objectId.dcs.deviceId, 1u);
  EXPECT_EQ(names[2]->objectKind, CUPTI_ACTIVITY_OBJECT_STREAM);
  EXPECT_EQ(names[2]->objectId.dcs.streamId, 7u);
  EXPECT_TRUE(Flushed<CUpti_ActivityMarker2>(CUPTI_ACTIVITY_KIND_MARKER).empty());
}

}  // namespace
}  // namespace eidolon::shim::cupti
