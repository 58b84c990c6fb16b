// A copy from pinned memory and one from pageable memory differ in time and in whether the call
// waits, and only the pointer tells them apart. The ledger is therefore looked up for each end of a
// copy; the count of ranges, read without the lock, makes that one load in programs that pin
// nothing. Ranges never overlap: a new one that would is refused, and that keeps a look-up to one
// step in the ordered map. Pinned memory is mapped without reserving swap and stays untouched, so
// emulated ranks may pin far more than the machine has.
#include "shim/gpu/allocation/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <mutex>

#include "services/contract/ring/record.h"
#include "shim/core/rank_clock.h"
#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/core/spin_lock.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::size_t kPage = 4096;

struct HostLedger {
  core::SpinLock lock;  // Guards the map.
  std::map<std::uintptr_t, HostRange> ranges;
  std::atomic<std::size_t> count{0};
  // Of all ranges, ever: words of parameters are mostly none of these addresses.
  std::atomic<std::uintptr_t> lowest{~std::uintptr_t{0}};
  std::atomic<std::uintptr_t> highest{0};
};

HostLedger& PinnedLedger() {
  static HostLedger* const ledger = new HostLedger;  // Threads may outlive main.
  return *ledger;
}

std::uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// False when it overlaps a known range.
bool Add(const HostRange& range) {
  HostLedger& ledger = PinnedLedger();
  const std::lock_guard guard(ledger.lock);
  const auto after = ledger.ranges.lower_bound(range.begin);
  if (after != ledger.ranges.end() && after->first < range.begin + range.bytes) return false;
  if (after != ledger.ranges.begin()) {
    const HostRange& before = std::prev(after)->second;
    if (before.begin + before.bytes > range.begin) return false;
  }
  ledger.ranges[range.begin] = range;
  ledger.lowest.store(std::min(ledger.lowest.load(), range.begin));
  ledger.highest.store(std::max(ledger.highest.load(), range.begin + range.bytes));
  ledger.count.store(ledger.ranges.size(), std::memory_order_release);
  return true;
}

// Takes out the range that begins here and has this kind.
std::optional<HostRange> Remove(const void* pointer, HostKind kind) {
  HostLedger& ledger = PinnedLedger();
  const std::lock_guard guard(ledger.lock);
  const auto found = ledger.ranges.find(AddressOf(pointer));
  if (found == ledger.ranges.end() || found->second.kind != kind) return std::nullopt;
  const HostRange range = found->second;
  ledger.ranges.erase(found);
  ledger.count.store(ledger.ranges.size(), std::memory_order_release);
  return range;
}

std::size_t RoundToPages(std::size_t bytes) { return (bytes + kPage - 1) & ~(kPage - 1); }

Status MapHost(std::size_t bytes, std::uint32_t flags, HostKind kind, void** result) {
  *result = nullptr;
  if (bytes == 0) return kind == HostKind::kManaged ? Status::kInvalidValue : Status::kSuccess;
  if (bytes > SIZE_MAX - kPage) return Status::kOutOfMemory;
  void* mapped = mmap(nullptr, RoundToPages(bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Status::kOutOfMemory;
  Add({AddressOf(mapped), bytes, kind, flags, CurrentDevice()});
  *result = mapped;
  return Status::kSuccess;
}

Status UnmapHost(void* pointer, HostKind kind) {
  if (pointer == nullptr) return Status::kSuccess;
  const auto range = Remove(pointer, kind);
  if (!range.has_value()) return Status::kInvalidValue;
  munmap(pointer, RoundToPages(range->bytes));
  return Status::kSuccess;
}

void TellManaged(int device, std::int64_t delta) {
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return;
  ring::MemoryRecord record{};
  record.header.kind = ring::RecordKind::kMemory;
  record.header.device = RingDevice(device);
  record.category = ring::MemoryCategory::kManaged;
  record.delta = delta;
  const MemoryInfo info = GetMemoryInfo(device);
  record.used = info.total - info.free;
  core::Append(*session, record);
}

// A profiler.
void TellAllocated(core::MemoryPlace place, const void* pointer, std::size_t bytes) {
  if (pointer == nullptr) return;
  core::TellOfMemory(
      {.place = place, .address = AddressOf(pointer), .bytes = bytes, .device = CurrentDevice()});
}
void TellReleased(core::MemoryPlace place, const HostRange& range) {
  core::TellOfMemory({.is_release = true,
                      .place = place,
                      .address = range.begin,
                      .bytes = range.bytes,
                      .device = range.device});
}

}  // namespace

Status AllocateHost(std::size_t bytes, std::uint32_t flags, void** result) noexcept {
  core::NotePinnedMemory();
  const Status status = MapHost(bytes, flags, HostKind::kAllocated, result);
  if (status == Status::kSuccess) TellAllocated(core::MemoryPlace::kPinned, *result, bytes);
  return status;
}

Status FreeHost(void* pointer) noexcept {
  const auto range = FindHostRange(pointer);
  const Status status = UnmapHost(pointer, HostKind::kAllocated);
  if (status == Status::kSuccess && range) TellReleased(core::MemoryPlace::kPinned, *range);
  return status;
}

Status RegisterHost(void* pointer, std::size_t bytes, std::uint32_t flags) noexcept {
  if (pointer == nullptr || bytes == 0) return Status::kInvalidValue;
  const std::uintptr_t begin = AddressOf(pointer);
  if (bytes > kUserSpaceEnd || begin > kUserSpaceEnd - bytes) return Status::kInvalidValue;
  if (IsDeviceAddress(begin)) return Status::kInvalidValue;
  core::NotePinnedMemory();
  const bool added =
      Add({AddressOf(pointer), bytes, HostKind::kRegistered, flags, CurrentDevice()});
  return added ? Status::kSuccess : Status::kHostMemoryAlreadyRegistered;
}

Status UnregisterHost(void* pointer) noexcept {
  return Remove(pointer, HostKind::kRegistered).has_value() ? Status::kSuccess
                                                            : Status::kHostMemoryNotRegistered;
}

Status AllocateManaged(std::size_t bytes, std::uint32_t flags, void** result) noexcept {
  const Status status = MapHost(bytes, flags, HostKind::kManaged, result);
  if (status != Status::kSuccess) return status;
  TellManaged(CurrentDevice(), static_cast<std::int64_t>(bytes));
  TellAllocated(core::MemoryPlace::kManaged, *result, bytes);
  return status;
}

Status FreeManaged(void* pointer) noexcept {
  const auto range = FindHostRange(pointer);
  const Status status = UnmapHost(pointer, HostKind::kManaged);
  if (status == Status::kSuccess && range.has_value()) {
    TellManaged(range->device, -static_cast<std::int64_t>(range->bytes));
    TellReleased(core::MemoryPlace::kManaged, *range);
  }
  return status;
}

// Registered ranges may follow each other, as when a program registers a buffer piece by piece;
// allocations may not.
bool HoldsHostBytes(const void* pointer, std::size_t bytes) noexcept {
  HostLedger& ledger = PinnedLedger();
  if (ledger.count.load(std::memory_order_acquire) == 0) return true;
  std::uintptr_t address = AddressOf(pointer);
  const std::uintptr_t end = address + bytes;
  const std::lock_guard guard(ledger.lock);
  auto range = ledger.ranges.upper_bound(address);
  const bool in_none = range == ledger.ranges.begin() ||
                       address - std::prev(range)->first >= std::prev(range)->second.bytes;
  if (in_none) return range == ledger.ranges.end() || range->first >= end;
  --range;
  while (true) {
    address = range->first + range->second.bytes;
    if (address >= end) return true;
    if (range->second.kind != HostKind::kRegistered) return false;
    ++range;
    const bool goes_on = range != ledger.ranges.end() && range->first == address &&
                         range->second.kind == HostKind::kRegistered;
    if (!goes_on) return false;
  }
}

std::optional<HostRange> FindHostRange(const void* pointer) noexcept {
  HostLedger& ledger = PinnedLedger();
  const std::uintptr_t address = AddressOf(pointer);
  if (address < ledger.lowest.load(std::memory_order_acquire)) return std::nullopt;
  if (address >= ledger.highest.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard guard(ledger.lock);
  auto after = ledger.ranges.upper_bound(address);
  if (after == ledger.ranges.begin()) return std::nullopt;
  const HostRange& range = std::prev(after)->second;
  if (address - range.begin >= range.bytes) return std::nullopt;
  return range;
}

}  // namespace eidolon::shim::gpu
