// A record of an operation has two halves: the process knows what was issued and by which call
// (IssuedWork), the agent knows when it ran (CompletedOperation). They meet here, long after the
// call, so everything else has to be in the work's definition, which lives as long as the process.
// Which records are wanted is that of the time of issue (work.kinds), not of now. Grids of library
// calls are assumptions, as no kernel is chosen for them; nothing in a prediction depends on them.
#include "shim/vendor/cupti/device_record.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "services/contract/workload/work.h"
#include "shim/core/intern_work.h"
#include "shim/core/session.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/graph/graph_exec.h"
#include "shim/vendor/cupti/operation_name.h"

namespace eidolon::shim::cupti {
namespace {

constexpr std::uint32_t kLegacyStreamNumber = 7;  // As CUPTI numbers it.
constexpr std::uint64_t kTile = 128;
constexpr std::int32_t kLibraryThreads = 256;
constexpr std::int32_t kNcclThreads = 512;

// Fills the part of every operation's record for where and when it ran.
template <typename Record>
void Place(const IssuedWork& work, const RunTime& time, Record* record) {
  record->start = time.begin;
  record->end = time.end;
  record->deviceId = OrdinalOf(work.ring_device);
  record->contextId = ContextNumber(record->deviceId);
  record->streamId = StreamNumber(work.stream);
  record->correlationId = work.correlation;
}

template <typename Record>
void NoteGraph(const IssuedWork& work, const ring::CompletedOperation& operation, Record* record) {
  if (work.kind != ring::RecordKind::kGraphLaunch) return;
  const gpu::OperationOrigin origin = gpu::OriginOf(work.subject, operation.index);
  record->graphId = origin.exec;
  record->graphNodeId = origin.node;
}

void ShapeOfLibraryCall(std::span<const std::byte> definition, std::uint32_t ordinal,
                        CUpti_ActivityKernel11* record) {
  record->gridY = record->gridZ = record->blockY = record->blockZ = 1;
  record->blockX = kLibraryThreads;
  if (As<workload::WorkHeader>(definition).kind == workload::WorkKind::kGemm) {
    const auto& gemm = As<workload::Gemm>(definition);
    const std::uint64_t tiles = (gemm.m + kTile - 1) / kTile * ((gemm.n + kTile - 1) / kTile);
    record->gridX = static_cast<std::int32_t>(std::min<std::uint64_t>(tiles, INT32_MAX));
    record->gridZ = static_cast<std::int32_t>(std::clamp<std::uint64_t>(gemm.batch, 1, INT32_MAX));
  } else {
    record->gridX =
        static_cast<std::int32_t>(gpu::PropertiesOf(static_cast<int>(ordinal)).multiprocessors);
  }
}

void ShapeOfKernel(const workload::Kernel& kernel, CUpti_ActivityKernel11* record) {
  record->gridX = static_cast<std::int32_t>(kernel.grid.x);
  record->gridY = static_cast<std::int32_t>(kernel.grid.y);
  record->gridZ = static_cast<std::int32_t>(kernel.grid.z);
  record->blockX = static_cast<std::int32_t>(kernel.block.x);
  record->blockY = static_cast<std::int32_t>(kernel.block.y);
  record->blockZ = static_cast<std::int32_t>(kernel.block.z);
  record->clusterX = kernel.cluster.x;
  record->clusterY = kernel.cluster.y;
  record->clusterZ = kernel.cluster.z;
  record->registersPerThread = static_cast<std::uint16_t>(kernel.registers);
  record->staticSharedMemory = static_cast<std::int32_t>(kernel.static_shared_bytes);
  record->dynamicSharedMemory = static_cast<std::int32_t>(kernel.dynamic_shared_bytes);
  record->sharedMemoryExecuted = kernel.static_shared_bytes + kernel.dynamic_shared_bytes;
  record->launchType = kernel.cooperative != 0
                           ? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
                           : CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
}

void AddKernel(const IssuedWork& work, const ring::CompletedOperation& operation,
               const RunTime& time, std::span<const std::byte> definition, RecordGroup* group) {
  const bool is_concurrent = work.kinds.test(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (!is_concurrent && !work.kinds.test(CUPTI_ACTIVITY_KIND_KERNEL)) return;
  CUpti_ActivityKernel11 record{};
  record.kind = is_concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL;
  Place(work, time, &record);
  NoteGraph(work, operation, &record);
  record.completed = time.end;
  record.gridId = static_cast<std::int64_t>(operation.record + operation.index);
  record.cacheConfig.both = 0;
  record.channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
  if (!definition.empty()) {
    record.name = NameWork(definition);
    if (As<workload::WorkHeader>(definition).kind == workload::WorkKind::kKernel) {
      ShapeOfKernel(As<workload::Kernel>(definition), &record);
    } else {
      ShapeOfLibraryCall(definition, record.deviceId, &record);
    }
  } else {
    const bool is_known = operation.index < work.collectives.size();
    record.name = is_known ? NameCollective(work.collectives[operation.index]) : NameOfCaptured();
    record.gridX = static_cast<std::int32_t>(core::Session::Existing()->header().nccl_channels);
    record.blockX = kNcclThreads;
    record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  }
  group->Add(record);
}

// Looking for a definition goes through all of them.
std::span<const std::byte> FindOnce(std::uint32_t work) {
  static std::mutex mutex;
  static auto& found = *new std::unordered_map<std::uint32_t, std::span<const std::byte>>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = found.try_emplace(work);
  if (is_new) at->second = core::FindWork(work);
  return at->second;
}

struct CopyEnds {
  CUpti_ActivityMemcpyKind kind;
  CUpti_ActivityMemoryKind source;
  CUpti_ActivityMemoryKind destination;
};

CopyEnds EndsOf(const workload::Copy& copy) {
  const CUpti_ActivityMemoryKind host =
      copy.pinned != 0 ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  constexpr auto kDevice = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  switch (copy.kind) {
    case workload::CopyKind::kHostToDevice:
      return {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, host, kDevice};
    case workload::CopyKind::kDeviceToHost:
      return {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, kDevice, host};
    case workload::CopyKind::kPeer:
      return {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, kDevice, kDevice};
    case workload::CopyKind::kHostToHost:
      return {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, host, host};
    default:
      return {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, kDevice, kDevice};
  }
}

void AddCopy(const IssuedWork& work, const ring::CompletedOperation& operation, const RunTime& time,
             const workload::Copy& copy, RecordGroup* group) {
  const CopyEnds ends = EndsOf(copy);
  if (copy.kind == workload::CopyKind::kPeer && copy.peer_device >= 0 &&
      work.kinds.test(CUPTI_ACTIVITY_KIND_MEMCPY2)) {
    CUpti_ActivityMemcpyPtoP4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
    Place(work, time, &record);
    NoteGraph(work, operation, &record);
    record.copyKind = ends.kind;
    record.srcKind = ends.source;
    record.dstKind = ends.destination;
    record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
    record.bytes = copy.bytes;
    record.srcDeviceId = record.deviceId;
    record.srcContextId = record.contextId;
    record.dstDeviceId = OrdinalOf(static_cast<std::uint16_t>(copy.peer_device));
    record.dstContextId = ContextNumber(record.dstDeviceId);
    group->Add(record);
    return;
  }
  if (!work.kinds.test(CUPTI_ACTIVITY_KIND_MEMCPY)) return;
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  Place(work, time, &record);
  NoteGraph(work, operation, &record);
  record.copyKind = ends.kind;
  record.srcKind = ends.source;
  record.dstKind = ends.destination;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  record.bytes = copy.bytes;
  record.copyCount = 1;
  record.channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
  group->Add(record);
}

void AddMemset(const IssuedWork& work, const ring::CompletedOperation& operation,
               const RunTime& time, const workload::Copy& copy, RecordGroup* group) {
  if (!work.kinds.test(CUPTI_ACTIVITY_KIND_MEMSET)) return;
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  Place(work, time, &record);
  NoteGraph(work, operation, &record);
  record.bytes = copy.bytes;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC;
  group->Add(record);
}

}  // namespace

std::uint32_t StreamNumber(std::uint32_t ring_stream) { return ring_stream + kLegacyStreamNumber; }
std::uint32_t ContextNumber(std::uint32_t ordinal) { return ordinal + 1; }

std::uint32_t OrdinalOf(std::uint16_t ring_device) {
  const int count = gpu::DeviceCount();
  for (int device = 0; device < count; ++device) {
    if (gpu::RingDevice(device) == ring_device) return static_cast<std::uint32_t>(device);
  }
  return ring_device;
}

std::span<const std::byte> DefinitionOf(const IssuedWork& work,
                                        const ring::CompletedOperation& operation) {
  switch (work.kind) {
    case ring::RecordKind::kLaunch:
      return FindOnce(work.subject);
    case ring::RecordKind::kGraphLaunch:
      return FindOnce(operation.node);
    default:
      return {};
  }
}

void AddDeviceRecord(const IssuedWork& work, const ring::CompletedOperation& operation,
                     const RunTime& time, RecordGroup* group) {
  const std::span<const std::byte> definition = DefinitionOf(work, operation);
  if (definition.empty()) {
    AddKernel(work, operation, time, definition, group);
    return;
  }
  switch (As<workload::WorkHeader>(definition).kind) {
    case workload::WorkKind::kCopy:
      AddCopy(work, operation, time, As<workload::Copy>(definition), group);
      break;
    case workload::WorkKind::kMemset:
      AddMemset(work, operation, time, As<workload::Copy>(definition), group);
      break;
    default:
      AddKernel(work, operation, time, definition, group);
  }
}

}  // namespace eidolon::shim::cupti
