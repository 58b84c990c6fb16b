// Addresses are real in one respect only: they are reserved in this process, so nothing else is
// mapped there and a stray access faults. Each device has a window of its own, by which an address
// tells its device without a look-up. `arena_used` holds how far each window was ever used; it is
// read without the lock by every launch that asks whether a word is a device address, so it only
// grows. The record of a change is written under the lock, or the agent would see the amounts in
// another order than they were booked.
//
// Small allocations share pieces of 2 MiB, as a driver does, because the amount in use has to agree
// with what a program reads by cudaMemGetInfo.
#include "shim/gpu/memory/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "services/base/check.h"
#include "shim/core/session.h"
#include "shim/core/system.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/address_space.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint64_t kDeviceStride = 0x8000000000;
constexpr std::uint64_t kRangesBegin = 0x730100000000;
static_assert(kArenaBegin + ring::kMaxDevices * kDeviceStride <= kRangesBegin);
static_assert(kDeviceStride == std::uint64_t{1} << kArenaWindowBits);
constexpr std::uint64_t kDeviceReservation = std::uint64_t{320} << 30;
constexpr std::uint64_t kSmallAlignment = 512;
constexpr std::uint64_t kLargestShared = 1 << 20;

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Keeps others out of a range. Failure (an address-space limit) only loses that protection. Past
// libc, because sanitizers move what they do not expect.
void Reserve(std::uint64_t begin, std::uint64_t bytes) {
  core::RawSyscall(SYS_mmap, static_cast<long>(begin), static_cast<long>(bytes), PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

// Raises the use of the windows that the range touches. Requires: the memory's mutex is held.
void NoteUse(std::uint64_t begin, std::uint64_t bytes) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << kArenaWindowBits;
  std::uint64_t offset = begin - kArenaBegin;
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const auto window = static_cast<std::size_t>(offset >> kArenaWindowBits);
    const std::uint64_t window_begin = offset & ~(kWindow - 1);
    const std::uint64_t used = std::min(end - window_begin, kWindow);
    if (arena_used[window].load(std::memory_order_relaxed) < used) {
      arena_used[window].store(used, std::memory_order_relaxed);
    }
    offset = window_begin + kWindow;
  }
}

// True when nothing from there on was in use yet, in its window. Requires: the mutex is held.
bool IsUntouched(std::uint64_t begin) {
  const std::uint64_t offset = begin - kArenaBegin;
  const auto window = static_cast<std::size_t>(offset >> kArenaWindowBits);
  const std::uint64_t in_window = offset & ((std::uint64_t{1} << kArenaWindowBits) - 1);
  return arena_used[window].load(std::memory_order_relaxed) <= in_window;
}

struct Allocation {
  std::uint64_t bytes = 0;  // As asked for.
  std::uint64_t taken = 0;  // Addresses taken; 0 for extents of others.
  bool cleared = false;     // IsCleared().
  int device = 0;
  bool shared = false;   // Lies in a piece shared by small allocations.
  bool mapping = false;  // Of the virtual-memory API.
  ring::MemoryCategory category = ring::MemoryCategory::kAllocation;
  std::uint64_t buffer_id = 0;
};

// A 2 MiB piece that small allocations share.
struct SharedPiece {
  AddressSpace free;
  std::uint64_t used = 0;
  std::uint64_t untouched = 0;  // No allocation of the process has had anything from there on.
};

struct DeviceMemory {
  AddressSpace addresses;
  std::map<std::uint64_t, SharedPiece> pieces;
  std::uint64_t used = 0;
  bool started = false;
  bool context_booked = false;
};

struct Memory {
  std::mutex mutex;  // Guards everything below.
  std::array<DeviceMemory, ring::kMaxDevices> devices;
  std::map<std::uint64_t, Allocation> allocations;
  AddressSpace ranges{kRangesBegin, kArenaEnd - kRangesBegin};
  std::uint64_t next_buffer_id = 1;
};

Memory& TheMemory() {
  static Memory* const memory = new Memory;  // Threads may outlive main.
  return *memory;
}

DeviceMemory& DeviceOf(Memory& memory, int device) {
  DeviceMemory& result = memory.devices[static_cast<std::size_t>(device)];
  if (!result.started) {
    result.started = true;
    const std::uint64_t begin = kArenaBegin + static_cast<std::uint64_t>(device) * kDeviceStride;
    Reserve(begin, kDeviceReservation);
    result.addresses = AddressSpace(begin, kDeviceReservation);
  }
  return result;
}

void Tell(ring::RecordKind kind, int device, ring::MemoryCategory category, std::int64_t delta,
          std::uint64_t used) {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return;
  ring::MemoryRecord record{};
  record.header.kind = kind;
  record.header.device = RingDevice(device);
  record.category = category;
  record.delta = delta;
  record.used = used;
  core::Append(*session, record);
}

bool HasRoom(int device, const DeviceMemory& memory, std::uint64_t bytes) {
  const std::uint64_t total = PropertiesOf(device).memory_bytes;
  return bytes <= total && memory.used <= total - bytes;
}

// Books under the lock; the record order is the ledger's order.
Status BookLocked(Memory& all, int device, ring::MemoryCategory category, std::int64_t delta) {
  DeviceMemory& memory = DeviceOf(all, device);
  if (delta > 0 && !HasRoom(device, memory, static_cast<std::uint64_t>(delta))) {
    Tell(ring::RecordKind::kOutOfMemory, device, category, delta, memory.used);
    return Status::kOutOfMemory;
  }
  const auto freed = static_cast<std::uint64_t>(-delta);
  memory.used = delta > 0 ? memory.used + static_cast<std::uint64_t>(delta)
                          : memory.used - std::min(memory.used, freed);
  Tell(ring::RecordKind::kMemory, device, category, delta, memory.used);
  return Status::kSuccess;
}

// `cleared`: no allocation of the process has had a byte of it before.
Status AllocateShared(Memory& all, int device, std::uint64_t bytes, std::uint64_t* address,
                      bool* cleared) {
  DeviceMemory& memory = DeviceOf(all, device);
  for (auto& [begin, piece] : memory.pieces) {
    if (const auto found = piece.free.Take(bytes, kSmallAlignment)) {
      piece.used += bytes;
      *cleared = *found >= piece.untouched;
      piece.untouched = std::max(piece.untouched, *found + bytes);
      *address = *found;
      return Status::kSuccess;
    }
  }
  const Status status = BookLocked(all, device, ring::MemoryCategory::kAllocation, kGranuleBytes);
  if (status != Status::kSuccess) return status;
  const auto begin = memory.addresses.Take(kGranuleBytes, kGranuleBytes);
  if (!begin.has_value()) {
    BookLocked(all, device, ring::MemoryCategory::kAllocation,
               -static_cast<std::int64_t>(kGranuleBytes));
    return Status::kOutOfMemory;
  }
  *cleared = IsUntouched(*begin);
  NoteUse(*begin, kGranuleBytes);
  SharedPiece& piece = memory.pieces[*begin];
  piece.free = AddressSpace(*begin, kGranuleBytes);
  piece.used = bytes;
  *address = *piece.free.Take(bytes, kSmallAlignment);
  piece.untouched = *begin + (*cleared ? bytes : kGranuleBytes);
  return Status::kSuccess;
}

void FreeShared(Memory& all, std::uint64_t address, const Allocation& allocation) {
  DeviceMemory& memory = DeviceOf(all, allocation.device);
  const auto found = memory.pieces.find(address & ~(kGranuleBytes - 1));
  SharedPiece& piece = found->second;
  piece.free.GiveBack(address, allocation.taken);
  piece.used -= allocation.taken;
  if (piece.used != 0) return;
  memory.addresses.GiveBack(found->first, kGranuleBytes);
  memory.pieces.erase(found);
  BookLocked(all, allocation.device, ring::MemoryCategory::kAllocation,
             -static_cast<std::int64_t>(kGranuleBytes));
}

std::map<std::uint64_t, Allocation>::const_iterator FindAllocation(const Memory& memory,
                                                                   std::uint64_t address) {
  auto after = memory.allocations.upper_bound(address);
  if (after == memory.allocations.begin()) return memory.allocations.end();
  --after;
  return address - after->first < after->second.bytes ? after : memory.allocations.end();
}

}  // namespace

MemoryInfo GetMemoryInfo(int device) noexcept {
  const std::uint64_t total = PropertiesOf(device).memory_bytes;
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const std::uint64_t used = DeviceOf(all, device).used;
  return {total - std::min(used, total), total};
}

Status Allocate(int device, std::uint64_t bytes, std::uint64_t* address,
                ring::MemoryCategory category) noexcept {
  *address = 0;
  if (bytes == 0) return Status::kSuccess;
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  Allocation allocation{
      .bytes = bytes, .device = device, .category = category, .buffer_id = all.next_buffer_id};
  if (bytes <= kLargestShared && category == ring::MemoryCategory::kAllocation) {
    allocation.shared = true;
    allocation.taken = RoundUp(bytes, kSmallAlignment);
    const Status status =
        AllocateShared(all, device, allocation.taken, address, &allocation.cleared);
    if (status != Status::kSuccess) return status;
  } else {
    if (bytes > kDeviceReservation) {
      Tell(ring::RecordKind::kOutOfMemory, device, category,
           static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)),
           DeviceOf(all, device).used);
      return Status::kOutOfMemory;
    }
    allocation.taken = RoundUp(bytes, kGranuleBytes);
    const auto delta = static_cast<std::int64_t>(allocation.taken);
    const Status status = BookLocked(all, device, category, delta);
    if (status != Status::kSuccess) return status;
    const auto begin = DeviceOf(all, device).addresses.Take(allocation.taken, kGranuleBytes);
    if (!begin.has_value()) {
      BookLocked(all, device, category, -delta);
      return Status::kOutOfMemory;
    }
    NoteUse(*begin, allocation.taken);
    *address = *begin;
  }
  ++all.next_buffer_id;
  all.allocations[*address] = allocation;
  NoteArenaChange();
  return Status::kSuccess;
}

bool IsCleared(std::uint64_t begin) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = all.allocations.find(begin);
  return found != all.allocations.end() && found->second.cleared;
}

Status Free(std::uint64_t address) noexcept {
  if (address == 0) return Status::kSuccess;
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = all.allocations.find(address);
  if (found == all.allocations.end() || found->second.taken == 0) return Status::kInvalidValue;
  const Allocation allocation = found->second;
  all.allocations.erase(found);
  NoteArenaChange();
  if (allocation.shared) {
    FreeShared(all, address, allocation);
  } else {
    DeviceOf(all, allocation.device).addresses.GiveBack(address, allocation.taken);
    BookLocked(all, allocation.device, allocation.category,
               -static_cast<std::int64_t>(allocation.taken));
  }
  return Status::kSuccess;
}

Status Book(int device, ring::MemoryCategory category, std::int64_t delta) noexcept {
  if (delta == 0) return Status::kSuccess;
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  return BookLocked(all, device, category, delta);
}

Status BookContext(int device) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  DeviceMemory& memory = DeviceOf(all, device);
  if (memory.context_booked) return Status::kSuccess;
  const Status status = BookLocked(all, device, ring::MemoryCategory::kContext,
                                   static_cast<std::int64_t>(PropertiesOf(device).context_bytes));
  memory.context_booked = status == Status::kSuccess;
  return status;
}

void ReportOutOfMemory(int device, ring::MemoryCategory category, std::uint64_t bytes) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  Tell(ring::RecordKind::kOutOfMemory, device, category,
       static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)),
       DeviceOf(all, device).used);
}

void TellActivations(int device, std::uint64_t bytes) noexcept {
  Tell(ring::RecordKind::kActivations, device, ring::MemoryCategory::kAllocation, 0, bytes);
}

Status ReserveRange(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted,
                    std::uint64_t* address) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  if (wanted >= kRangesBegin && wanted < kArenaEnd && wanted % alignment == 0 &&
      all.ranges.TakeAt(wanted, bytes)) {
    *address = wanted;
  } else if (const auto begin = all.ranges.Take(bytes, alignment)) {
    *address = *begin;
  } else {
    return Status::kOutOfMemory;
  }
  Reserve(*address, bytes);
  NoteUse(*address, bytes);
  return Status::kSuccess;
}

Status ReleaseRange(std::uint64_t address, std::uint64_t bytes) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  core::RawSyscall(SYS_munmap, static_cast<long>(address), static_cast<long>(bytes));
  all.ranges.GiveBack(address, bytes);
  return Status::kSuccess;
}

void AddExtent(const Extent& extent, ExtentKind kind) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  all.allocations[extent.begin] = {.bytes = extent.bytes,
                                   .device = extent.device,
                                   .mapping = kind == ExtentKind::kMapping,
                                   .buffer_id = all.next_buffer_id++};
  NoteArenaChange();
}

void RemoveExtent(std::uint64_t begin) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = all.allocations.find(begin);
  if (found == all.allocations.end() || found->second.taken != 0) return;
  all.allocations.erase(found);
  NoteArenaChange();
}

void ResizeExtent(std::uint64_t begin, std::uint64_t bytes) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = all.allocations.find(begin);
  CHECK(found != all.allocations.end() && bytes <= found->second.taken);
  if (found->second.bytes == 0) found->second.buffer_id = all.next_buffer_id++;
  found->second.bytes = bytes;
  NoteArenaChange();
}

bool HoldsMappings(std::uint64_t address, std::uint64_t bytes) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  auto found = FindAllocation(all, address);
  while (found != all.allocations.end() && found->second.mapping) {
    const std::uint64_t end = found->first + found->second.bytes;
    if (bytes <= end - address) return true;
    bytes -= end - address;
    address = end;
    if (++found != all.allocations.end() && found->first != end) return false;
  }
  return false;
}

std::optional<Extent> FindExtent(std::uint64_t address) noexcept {
  if (!IsDeviceAddress(address)) return std::nullopt;
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = FindAllocation(all, address);
  if (found == all.allocations.end()) return std::nullopt;
  return Extent{found->first, found->second.bytes, found->second.device};
}

int DeviceOfAddress(std::uint64_t address) noexcept {
  if (!IsDeviceAddress(address)) return -1;
  if (address < kRangesBegin) return static_cast<int>((address - kArenaBegin) / kDeviceStride);
  const auto extent = FindExtent(address);
  return extent.has_value() ? extent->device : -1;
}

std::uint64_t BufferId(std::uint64_t begin) noexcept {
  Memory& all = TheMemory();
  const std::lock_guard guard(all.mutex);
  const auto found = all.allocations.find(begin);
  return found == all.allocations.end() ? 0 : found->second.buffer_id;
}

}  // namespace eidolon::shim::gpu
