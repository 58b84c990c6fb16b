// Freed blocks keep their addresses in the pool, by rounded size, and go back to the device,
// largest first, when more is reserved than the threshold and the use allow. Order on streams is
// not modelled: a freed block may be given out at once, whatever stream asks. The size that the
// program asked for and the size that is booked differ (granules of 2 MiB), so a block's extent is
// set with each use and is empty while the block is cached. Observers are told after the lock is
// released, since they may call back.
//
// Memory that a capture allocates is not given back when the graph is destroyed: replays use the
// same addresses.
#include "shim/gpu/allocation/pool.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>

#include "services/contract/ring/layout.h"
#include "shim/core/resource_observer.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

struct Pool {
  static constexpr std::uint32_t kMagic = 0x45504f4c;
  std::uint32_t magic = 0;
  int device = 0;
  bool destroyed = false;  // Its handle is none any more; it lives while its memory is in use.
  std::uint64_t threshold = 0;
  std::uint64_t reserved = 0, reserved_high = 0;
  std::uint64_t used = 0, used_high = 0;
  std::array<std::uint64_t, 4> reuse = {0, 1, 1, 1};   // By attribute number.
  std::multimap<std::uint64_t, std::uint64_t> cached;  // Rounded bytes to address.
};

struct Pooled {
  Pool* pool = nullptr;
  std::uint64_t bytes = 0;  // Rounded.
};

struct Pools {
  std::mutex mutex;  // Guards everything below.
  HandlePool<Pool> objects;
  std::array<Pool*, ring::kMaxDevices> defaults{};
  std::array<Pool*, ring::kMaxDevices> current{};
  std::map<std::uint64_t, Pooled> live;
};

Pools& AllPools() {
  static Pools* const pools = new Pools;  // Threads may outlive main.
  return *pools;
}

Pool* MakePool(Pools& all, int device) {
  Pool* pool = all.objects.Take();
  *pool = Pool{};
  pool->device = device;
  pool->magic = Pool::kMagic;
  return pool;
}

// The pool of a handle that the program may use; null: none. Requires: the mutex is held.
Pool* LookupPool(PoolHandle handle) {
  Pool* pool = FromHandle<Pool>(handle);
  return pool == nullptr || pool->destroyed ? nullptr : pool;
}

Pool* DefaultLocked(Pools& all, int device) {
  const auto index = static_cast<std::size_t>(device);
  if (all.defaults[index] == nullptr) {
    all.defaults[index] = MakePool(all, device);
    all.current[index] = all.defaults[index];
  }
  return all.defaults[index];
}

bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }

core::MemoryPoolState StateOf(const Pool& pool) {
  return {.handle = reinterpret_cast<std::uint64_t>(&pool),
          .release_threshold = pool.threshold,
          .reserved = pool.reserved,
          .used = pool.used};
}

// Gives cached memory back until at most `keep` bytes are reserved.
void Trim(Pool& pool, std::uint64_t keep) {
  while (pool.reserved > keep && !pool.cached.empty()) {
    const auto largest = std::prev(pool.cached.end());
    Free(largest->second);
    pool.reserved -= largest->first;
    pool.cached.erase(largest);
  }
}

Status TakeFromPool(Pools& all, Pool& pool, std::uint64_t bytes, std::uint64_t* address) {
  const std::uint64_t rounded = (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
  if (rounded < bytes) return Status::kOutOfMemory;
  const auto found = pool.cached.find(rounded);
  if (found != pool.cached.end()) {
    *address = found->second;
    pool.cached.erase(found);
  } else {
    Status status = Allocate(pool.device, rounded, address, ring::MemoryCategory::kPool);
    if (status == Status::kOutOfMemory && !pool.cached.empty()) {
      Trim(pool, 0);
      status = Allocate(pool.device, rounded, address, ring::MemoryCategory::kPool);
    }
    if (status != Status::kSuccess) return status;
    pool.reserved += rounded;
    pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
  }
  ResizeExtent(*address, bytes);
  pool.used += rounded;
  pool.used_high = std::max(pool.used_high, pool.used);
  all.live[*address] = {&pool, rounded};
  return Status::kSuccess;
}

}  // namespace

Status CreatePool(int device, PoolHandle* result) noexcept {
  if (result == nullptr) return Status::kInvalidValue;
  if (!IsDevice(device)) return Status::kInvalidDevice;
  core::PoolChange change{.event = core::PoolEvent::kCreated, .device = device, .pool = {}};
  {
    Pools& all = AllPools();
    const std::lock_guard guard(all.mutex);
    Pool* const pool = MakePool(all, device);
    *result = pool;
    change.pool = StateOf(*pool);
  }
  core::TellOfPool(change);
  return Status::kSuccess;
}

Status DestroyPool(PoolHandle handle) noexcept {
  core::PoolChange change{.event = core::PoolEvent::kDestroyed, .pool = {}};
  {
    Pools& all = AllPools();
    const std::lock_guard guard(all.mutex);
    Pool* pool = LookupPool(handle);
    if (pool == nullptr || pool == all.defaults[static_cast<std::size_t>(pool->device)]) {
      return Status::kInvalidValue;
    }
    Trim(*pool, 0);
    change.device = pool->device;
    change.pool = StateOf(*pool);
    Pool*& current = all.current[static_cast<std::size_t>(pool->device)];
    if (current == pool) current = DefaultLocked(all, pool->device);
    pool->destroyed = true;
    pool->threshold = 0;
    if (pool->used == 0) all.objects.GiveBack(pool);
  }
  core::TellOfPool(change);
  return Status::kSuccess;
}

Status DefaultPool(int device, PoolHandle* result) noexcept {
  if (result == nullptr) return Status::kInvalidValue;
  if (!IsDevice(device)) return Status::kInvalidDevice;
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  *result = DefaultLocked(all, device);
  return Status::kSuccess;
}

Status CurrentPool(int device, PoolHandle* result) noexcept {
  if (const Status status = DefaultPool(device, result); status != Status::kSuccess) return status;
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  *result = all.current[static_cast<std::size_t>(device)];
  return Status::kSuccess;
}

Status SetCurrentPool(int device, PoolHandle handle) noexcept {
  if (!IsDevice(device)) return Status::kInvalidDevice;
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  Pool* pool = LookupPool(handle);
  if (pool == nullptr || pool->device != device) return Status::kInvalidValue;
  DefaultLocked(all, device);
  all.current[static_cast<std::size_t>(device)] = pool;
  return Status::kSuccess;
}

Status AllocateFromPool(PoolHandle handle, std::uint64_t bytes, StreamHandle stream,
                        std::uint64_t* address) noexcept {
  if (address == nullptr) return Status::kInvalidValue;
  *address = 0;
  Stream* where = Lookup(stream);
  if (where == nullptr) return Status::kInvalidHandle;
  if (bytes == 0) return Status::kInvalidValue;
  core::MemoryChange change{.bytes = bytes, .device = 0, .stream = where, .pool = {}};
  {
    Pools& all = AllPools();
    const std::lock_guard guard(all.mutex);
    Pool* pool = LookupPool(handle);
    if (pool == nullptr) return Status::kInvalidValue;
    const Status status = TakeFromPool(all, *pool, bytes, address);
    if (status != Status::kSuccess) return status;
    change.address = *address;
    change.device = pool->device;
    change.pool = StateOf(*pool);
  }
  if (!IsCapturing(stream)) {
    core::TellOfMemory(change);
    return Status::kSuccess;
  }
  // A graph's memory stays reserved while the process lives: replays use the same addresses.
  const Status status = CaptureMemory(*where, true, *address, bytes);
  if (status != Status::kSuccess) FreePooled(*address);
  return status;
}

Status AllocateAsync(std::uint64_t bytes, StreamHandle stream, std::uint64_t* address) noexcept {
  PoolHandle pool;
  const Status status = CurrentPool(DeviceOf(stream), &pool);
  return status != Status::kSuccess ? status : AllocateFromPool(pool, bytes, stream, address);
}

namespace {

Status FreePooled(std::uint64_t address, std::optional<core::MemoryPoolState>* state) {
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  const auto found = all.live.find(address);
  if (found == all.live.end()) return Status::kNotFound;
  Pool& pool = *found->second.pool;
  ResizeExtent(address, 0);
  pool.used -= found->second.bytes;
  pool.cached.emplace(found->second.bytes, address);
  all.live.erase(found);
  Trim(pool, std::max(pool.threshold, pool.used));
  *state = StateOf(pool);
  if (pool.destroyed && pool.used == 0) all.objects.GiveBack(&pool);
  return Status::kSuccess;
}

}  // namespace

Status FreePooled(std::uint64_t address) noexcept {
  std::optional<core::MemoryPoolState> state;
  return FreePooled(address, &state);
}

Status FreeAsync(std::uint64_t address, StreamHandle stream) noexcept {
  Stream* where = Lookup(stream);
  if (where == nullptr) return Status::kInvalidHandle;
  if (address == 0) return Status::kSuccess;
  const auto extent = FindExtent(address);
  if (!extent.has_value()) return Status::kInvalidValue;
  if (IsCapturing(stream)) return CaptureMemory(*where, false, address, extent->bytes);
  core::MemoryChange change{.is_release = true,
                            .address = address,
                            .bytes = extent->bytes,
                            .device = extent->device,
                            .stream = where,
                            .pool = {}};
  Status status = FreePooled(address, &change.pool);
  if (status == Status::kNotFound) status = Free(address);
  if (status != Status::kSuccess) return status;
  value::ProcessPending().Forget(address, extent->bytes);
  core::TellOfMemory(change);
  return status;
}

Status TrimPool(PoolHandle handle, std::uint64_t keep_bytes) noexcept {
  core::PoolChange change{.event = core::PoolEvent::kTrimmed, .kept_bytes = keep_bytes, .pool = {}};
  {
    Pools& all = AllPools();
    const std::lock_guard guard(all.mutex);
    Pool* pool = LookupPool(handle);
    if (pool == nullptr) return Status::kInvalidValue;
    Trim(*pool, keep_bytes);
    change.device = pool->device;
    change.pool = StateOf(*pool);
  }
  core::TellOfPool(change);
  return Status::kSuccess;
}

Status GetPoolAttribute(PoolHandle handle, PoolAttribute attribute, std::uint64_t* value) noexcept {
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  const Pool* pool = LookupPool(handle);
  if (pool == nullptr || value == nullptr) return Status::kInvalidValue;
  switch (attribute) {
    case PoolAttribute::kReleaseThreshold:
      *value = pool->threshold;
      break;
    case PoolAttribute::kReservedCurrent:
      *value = pool->reserved;
      break;
    case PoolAttribute::kReservedHigh:
      *value = pool->reserved_high;
      break;
    case PoolAttribute::kUsedCurrent:
      *value = pool->used;
      break;
    case PoolAttribute::kUsedHigh:
      *value = pool->used_high;
      break;
    case PoolAttribute::kReuseFollowEventDependencies:
    case PoolAttribute::kReuseAllowOpportunistic:
    case PoolAttribute::kReuseAllowInternalDependencies:
      *value = pool->reuse[static_cast<std::size_t>(attribute)];
      break;
    default:
      return Status::kInvalidValue;
  }
  return Status::kSuccess;
}

Status SetPoolAttribute(PoolHandle handle, PoolAttribute attribute, std::uint64_t value) noexcept {
  Pools& all = AllPools();
  const std::lock_guard guard(all.mutex);
  Pool* pool = LookupPool(handle);
  if (pool == nullptr) return Status::kInvalidValue;
  switch (attribute) {
    case PoolAttribute::kReleaseThreshold:
      pool->threshold = value;
      Trim(*pool, std::max(value, pool->used));
      break;
    case PoolAttribute::kReservedHigh:
    case PoolAttribute::kUsedHigh:
      // High-water marks can only be reset.
      if (value != 0) return Status::kInvalidValue;
      (attribute == PoolAttribute::kUsedHigh ? pool->used_high : pool->reserved_high) =
          attribute == PoolAttribute::kUsedHigh ? pool->used : pool->reserved;
      break;
    case PoolAttribute::kReuseFollowEventDependencies:
    case PoolAttribute::kReuseAllowOpportunistic:
    case PoolAttribute::kReuseAllowInternalDependencies:
      pool->reuse[static_cast<std::size_t>(attribute)] = value != 0 ? 1 : 0;
      break;
    default:
      return Status::kInvalidValue;
  }
  return Status::kSuccess;
}

Status GetGraphMemoryAttribute(int device, int attribute, std::uint64_t* value) noexcept {
  if (!IsDevice(device)) return Status::kInvalidDevice;
  if (attribute < 0 || attribute > 3 || value == nullptr) return Status::kInvalidValue;
  *value = 0;
  return Status::kSuccess;
}

Status SetGraphMemoryAttribute(int device, int attribute, std::uint64_t value) noexcept {
  if (!IsDevice(device)) return Status::kInvalidDevice;
  // Only the high-water marks (1 and 3) can be set, and only to 0.
  const bool resets = (attribute == 1 || attribute == 3) && value == 0;
  return resets ? Status::kSuccess : Status::kInvalidValue;
}

}  // namespace eidolon::shim::gpu
