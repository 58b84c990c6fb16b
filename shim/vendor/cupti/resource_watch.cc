// A profiler may start in the middle of a program and still has to learn of the contexts and
// default streams that its records name. So those that exist are described when their kind is
// enabled, and what comes later when it is made; a bit for each device keeps the two from telling
// the same context twice. Times are the rank's picoseconds, converted at the flush. Observers run
// inside the program's CUDA calls: an exception costs the record and must not reach the call.
#include "shim/vendor/cupti/resource_watch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "shim/core/rank_clock.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cupti/callbacks.h"
#include "shim/vendor/cupti/device_record.h"
#include "shim/vendor/cupti/watch.h"

namespace eidolon::shim::cupti {
namespace {

std::uint32_t ProcessNumber() { return static_cast<std::uint32_t>(getpid()); }
std::uint64_t NowPs() { return static_cast<std::uint64_t>(core::Now().ps); }

// Since compute capability 7.0: four schedulers, each issues one instruction a clock.
constexpr std::uint32_t kInstructionsPerClock = 4;

// Describes the device as cudaGetDeviceProperties does.
CUpti_ActivityDevice6 DescribeDevice(int device) {
  const ring::DeviceProperties& properties = gpu::PropertiesOf(device);
  CUpti_ActivityDevice6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS;
  record.globalMemoryBandwidth = properties.memory_bandwidth / 1000;
  record.globalMemorySize = properties.memory_bytes;
  record.constantMemorySize = 64 << 10;
  record.l2CacheSize = static_cast<std::uint32_t>(properties.l2_bytes);
  record.numThreadsPerWarp = 32;
  record.coreClockRate = properties.sm_clock_khz;
  record.numMemcpyEngines = properties.copy_engines;
  record.numMultiprocessors = properties.multiprocessors;
  record.maxIPC = kInstructionsPerClock;
  record.maxWarpsPerMultiprocessor = properties.max_threads_per_multiprocessor / 32;
  record.maxBlocksPerMultiprocessor = properties.max_blocks_per_multiprocessor;
  record.maxSharedMemoryPerMultiprocessor = properties.shared_bytes_per_multiprocessor;
  record.maxRegistersPerMultiprocessor = properties.registers_per_multiprocessor;
  record.maxRegistersPerBlock = properties.registers_per_block;
  record.maxSharedMemoryPerBlock = properties.shared_bytes_per_block;
  record.maxThreadsPerBlock = record.maxBlockDimX = record.maxBlockDimY = 1024;
  record.maxBlockDimZ = 64;
  record.maxGridDimX = std::numeric_limits<std::int32_t>::max();
  record.maxGridDimY = record.maxGridDimZ = 65535;
  record.computeCapabilityMajor = properties.compute_major;
  record.computeCapabilityMinor = properties.compute_minor;
  record.id = static_cast<std::uint32_t>(device);
  record.eccEnabled = 1;
  std::memcpy(&record.uuid, properties.uuid, sizeof(record.uuid));
  record.name = strndup(properties.name, sizeof(properties.name));  // The program frees it.
  record.isCudaVisible = 1;
  record.gpuInstanceId = record.computeInstanceId = std::numeric_limits<std::uint32_t>::max();
  record.numaId = invalidNumaId;
  record.numTpcs = properties.multiprocessors / 2;
  return record;
}

void AddStream(std::uint32_t device, std::uint32_t ring_stream, int priority,
               CUpti_ActivityStreamFlag flag) {
  CUpti_ActivityStream record{};
  record.kind = CUPTI_ACTIVITY_KIND_STREAM;
  record.contextId = ContextNumber(device);
  record.streamId = StreamNumber(ring_stream);
  record.priority = static_cast<std::uint32_t>(priority);
  record.flag = flag;
  record.correlationId = Watch::CurrentCorrelation();
  Watch::Get().KeepRecord(record);
}

// Zero: no stream, as CUPTI says it.
std::uint32_t StreamNumberOf(void* stream) {
  const gpu::Stream* known = stream == nullptr ? nullptr : gpu::Lookup(stream);
  return known == nullptr ? CUPTI_INVALID_STREAM_ID : StreamNumber(known->id);
}

CUpti_ActivityMemoryKind MemoryKindOf(core::MemoryPlace place) {
  switch (place) {
    case core::MemoryPlace::kPinned:
      return CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    case core::MemoryPlace::kManaged:
      return CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
    default:
      return CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  }
}

}  // namespace

ResourceWatch& ResourceWatch::Get() {
  static ResourceWatch& watch = *new ResourceWatch;  // Never destroyed: threads may outlive main.
  return watch;
}

void ResourceWatch::Follow() {
  const bool wanted = Watch::Get().any_host_records() || Callbacks::Get().any();
  core::ObserveResources(wanted ? this : nullptr);
}

void ResourceWatch::Begin(CUpti_ActivityKind kind) {
  {
    const std::lock_guard guard(mutex_);
    if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) contexts_.reset();
    if (kind == CUPTI_ACTIVITY_KIND_STREAM) default_streams_.reset();
  }
  for (int device = 0; device < gpu::DeviceCount(); ++device) {
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) Watch::Get().KeepRecord(DescribeDevice(device));
    if (gpu::IsPrimaryActive(device)) DescribeContext(device);
  }
}

void ResourceWatch::DescribeContext(int device) {
  const auto number = static_cast<std::uint32_t>(device);
  const auto is_news = [this, device](CUpti_ActivityKind kind, Devices* known) {
    if (!Watch::Get().IsEnabled(kind)) return false;
    const std::lock_guard guard(mutex_);
    const auto index = static_cast<std::size_t>(device);
    return !known->test(index) && known->set(index).test(index);
  };
  if (is_news(CUPTI_ACTIVITY_KIND_CONTEXT, &contexts_)) {
    CUpti_ActivityContext4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
    record.contextId = ContextNumber(number);
    record.deviceId = number;
    record.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
    record.nullStreamId = static_cast<std::uint16_t>(StreamNumber(0));
    record.cigMode = CUPTI_CONTEXT_CIG_MODE_NONE;
    record.processId = ProcessNumber();
    Watch::Get().KeepRecord(record);
  }
  if (is_news(CUPTI_ACTIVITY_KIND_STREAM, &default_streams_)) {
    AddStream(number, 0, 0, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
  }
}

void ResourceWatch::ResourceChanged(const core::ResourceChange& change) noexcept {
  try {
    if (change.event == core::ResourceEvent::kContextCreated && change.context != nullptr) {
      DescribeContext(static_cast<const gpu::Context*>(change.context)->device);
    } else if (change.event == core::ResourceEvent::kStreamCreated && change.stream != nullptr) {
      const auto& stream = *static_cast<const gpu::Stream*>(change.stream);
      AddStream(static_cast<std::uint32_t>(stream.device), stream.id, stream.priority,
                stream.non_blocking() ? CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING
                                      : CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT);
    }
  } catch (...) {  // No memory: there is no record.
  }
  if (Callbacks::Get().any()) Callbacks::Get().ResourceChanged(change);
}

void ResourceWatch::MemoryChanged(const core::MemoryChange& change) noexcept {
  CUpti_ActivityMemory4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = change.is_release ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE
                                                 : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = MemoryKindOf(change.place);
  record.correlationId = Watch::CurrentCorrelation();
  record.address = change.address;
  record.bytes = change.bytes;
  record.timestamp = NowPs();
  record.processId = ProcessNumber();
  record.deviceId = static_cast<std::uint32_t>(std::max(change.device, 0));
  record.contextId = ContextNumber(record.deviceId);
  record.streamId = StreamNumberOf(change.stream);
  record.isAsync = change.stream == nullptr ? 0 : 1;
  if (change.pool) {
    record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
    record.memoryPoolConfig.address = change.pool->handle;
    record.memoryPoolConfig.releaseThreshold = change.pool->release_threshold;
    record.memoryPoolConfig.pool.size = change.pool->reserved;
    record.memoryPoolConfig.utilizedSize = change.pool->used;
  }
  Watch::Get().KeepRecord(record);
}

void ResourceWatch::PoolChanged(const core::PoolChange& change) noexcept {
  constexpr CUpti_ActivityMemoryPoolOperationType kOperations[] = {
      CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED,
      CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED,
      CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED};
  CUpti_ActivityMemoryPool3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  record.memoryPoolOperationType = kOperations[static_cast<std::size_t>(change.event)];
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.correlationId = Watch::CurrentCorrelation();
  record.processId = ProcessNumber();
  record.deviceId = static_cast<std::uint32_t>(change.device);
  record.minBytesToKeep = change.kept_bytes;
  record.address = change.pool.handle;
  record.size = change.pool.reserved;
  record.releaseThreshold = change.pool.release_threshold;
  record.timestamp = NowPs();
  record.utilizedSize = change.pool.used;
  Watch::Get().KeepRecord(record);
}

void ResourceWatch::StreamSynchronized(void* context, void* stream) noexcept {
  if (Callbacks::Get().any()) Callbacks::Get().StreamSynchronized(context, stream);
}

void ResourceWatch::ContextSynchronized(void* context) noexcept {
  if (Callbacks::Get().any()) Callbacks::Get().ContextSynchronized(context);
}

}  // namespace eidolon::shim::cupti
