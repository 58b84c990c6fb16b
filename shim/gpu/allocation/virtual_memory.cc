// Three things have lives of their own: a range of addresses, physical memory, and the mapping of
// one into the other. Physical memory is booked when it is created, not when it is mapped, as on a
// GPU; it is freed by the last of its handles and mappings. A mapping becomes an extent of the
// address space, so copies and kernels find it as they find any allocation. Mappings do not
// overlap, and an unmapping takes whole ones or changes nothing.
//
// Bytes are forgotten without the lock held: the queue of values may run launches, and these look
// up reservations.
#include "shim/gpu/allocation/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <mutex>

#include "services/contract/ring/record.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/memory/memory.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

struct Physical {
  static constexpr std::uint32_t kMagic = 0x45504859;
  std::uint32_t magic = 0;
  std::uint64_t bytes = 0;
  PhysicalProperties properties;
  std::uint32_t references = 0;  // Handles and mappings.
  bool imported = false;         // Booked by its exporter.
};

struct Mapping {
  std::uint64_t bytes = 0;
  Physical* physical = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t readable = 0;  // Bit per device.
  std::uint32_t writable = 0;
};

struct VirtualMemory {
  std::mutex mutex;                                     // Guards everything below.
  std::map<std::uint64_t, std::uint64_t> reservations;  // Begin to bytes.
  std::map<std::uint64_t, Mapping> mappings;
  HandlePool<Physical> physicals;
};

VirtualMemory& Reservations() {
  static VirtualMemory* const ledger = new VirtualMemory;  // Threads may outlive main.
  return *ledger;
}

// Message that travels through an exported descriptor.
struct Exported {
  std::uint64_t magic = 0;
  std::uint64_t bytes = 0;
  PhysicalProperties properties;
};
constexpr std::uint64_t kExportMagic = 0x656964706879730a;

bool Aligned(std::uint64_t value) { return value % kGranuleBytes == 0; }

Physical* Find(PhysicalHandle handle) {
  return FromHandle<Physical>(reinterpret_cast<void*>(handle));
}

void Drop(VirtualMemory& ledger, Physical* physical) {
  if (--physical->references > 0) return;
  if (!physical->imported && physical->properties.device >= 0) {
    gpu::Book(physical->properties.device, ring::MemoryCategory::kAllocation,
              -static_cast<std::int64_t>(physical->bytes));
  }
  ledger.physicals.GiveBack(physical);
}

bool Contains(const std::map<std::uint64_t, std::uint64_t>& ranges, std::uint64_t address,
              std::uint64_t bytes) {
  const auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address - begin < size && bytes <= size - (address - begin);
}

std::map<std::uint64_t, Mapping>::iterator FindMapping(VirtualMemory& ledger,
                                                       std::uint64_t address) {
  const auto after = ledger.mappings.upper_bound(address);
  if (after == ledger.mappings.begin()) return ledger.mappings.end();
  const auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : ledger.mappings.end();
}

bool AnyMapping(VirtualMemory& ledger, std::uint64_t address, std::uint64_t bytes) {
  if (FindMapping(ledger, address) != ledger.mappings.end()) return true;
  const auto next = ledger.mappings.lower_bound(address);
  return next != ledger.mappings.end() && next->first < address + bytes;
}

}  // namespace

Status ReserveAddress(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t wanted,
                      std::uint64_t* address) noexcept {
  if (address == nullptr || bytes == 0 || !Aligned(bytes)) return Status::kInvalidValue;
  if ((alignment & (alignment - 1)) != 0) return Status::kInvalidValue;
  if (alignment < kGranuleBytes) alignment = kGranuleBytes;
  const Status status = ReserveRange(bytes, alignment, wanted, address);
  if (status != Status::kSuccess) return status;
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  ledger.reservations[*address] = bytes;
  NoteArenaChange();
  return Status::kSuccess;
}

Status FreeAddress(std::uint64_t address, std::uint64_t bytes) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const auto found = ledger.reservations.find(address);
  if (found == ledger.reservations.end() || found->second != bytes) return Status::kInvalidValue;
  if (AnyMapping(ledger, address, bytes)) return Status::kInvalidValue;
  ledger.reservations.erase(found);
  NoteArenaChange();
  return ReleaseRange(address, bytes);
}

std::optional<Extent> FindReservation(std::uint64_t address) noexcept {
  if (!IsDeviceAddress(address)) return std::nullopt;
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const auto after = ledger.reservations.upper_bound(address);
  if (after == ledger.reservations.begin()) return std::nullopt;
  const auto& [begin, bytes] = *std::prev(after);
  if (address - begin >= bytes) return std::nullopt;
  return Extent{.begin = begin, .bytes = bytes};
}

Status CreatePhysical(const PhysicalProperties& properties, std::uint64_t bytes,
                      PhysicalHandle* handle) noexcept {
  if (handle == nullptr || bytes == 0 || !Aligned(bytes)) return Status::kInvalidValue;
  if (properties.device >= DeviceCount()) return Status::kInvalidDevice;
  if (bytes > INT64_MAX) {  // What is booked has a sign.
    if (properties.device >= 0) {
      ReportOutOfMemory(properties.device, ring::MemoryCategory::kAllocation, bytes);
    }
    return Status::kOutOfMemory;
  }
  if (properties.device >= 0) {
    const Status status = gpu::Book(properties.device, ring::MemoryCategory::kAllocation,
                                    static_cast<std::int64_t>(bytes));
    if (status != Status::kSuccess) return status;
  }
  Physical* physical = Reservations().physicals.Take();
  physical->bytes = bytes;
  physical->properties = properties;
  physical->references = 1;
  physical->imported = false;
  physical->magic = Physical::kMagic;
  *handle = reinterpret_cast<PhysicalHandle>(physical);
  return Status::kSuccess;
}

Status ReleasePhysical(PhysicalHandle handle) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  Physical* physical = Find(handle);
  if (physical == nullptr) return Status::kInvalidValue;
  Drop(ledger, physical);
  return Status::kSuccess;
}

Status RetainPhysical(std::uint64_t address, PhysicalHandle* handle) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const auto found = FindMapping(ledger, address);
  if (found == ledger.mappings.end() || handle == nullptr) return Status::kInvalidValue;
  ++found->second.physical->references;
  *handle = reinterpret_cast<PhysicalHandle>(found->second.physical);
  return Status::kSuccess;
}

Status GetPhysicalProperties(PhysicalHandle handle, PhysicalProperties* properties) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const Physical* physical = Find(handle);
  if (physical == nullptr || properties == nullptr) return Status::kInvalidValue;
  *properties = physical->properties;
  return Status::kSuccess;
}

Status Map(std::uint64_t address, std::uint64_t bytes, std::uint64_t offset,
           PhysicalHandle handle) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  Physical* physical = Find(handle);
  if (physical == nullptr || bytes == 0) return Status::kInvalidValue;
  if (!Aligned(address) || !Aligned(bytes) || !Aligned(offset)) return Status::kInvalidValue;
  if (offset > physical->bytes || bytes > physical->bytes - offset) return Status::kInvalidValue;
  if (!Contains(ledger.reservations, address, bytes)) return Status::kInvalidValue;
  if (AnyMapping(ledger, address, bytes)) return Status::kInvalidValue;
  ++physical->references;
  ledger.mappings[address] = {.bytes = bytes, .physical = physical, .offset = offset};
  const int device = physical->properties.device;
  AddExtent({.begin = address, .bytes = bytes, .device = device < 0 ? 0 : device},
            ExtentKind::kMapping);
  return Status::kSuccess;
}

namespace {

Status UnmapInLedger(std::uint64_t address, std::uint64_t bytes) {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  // Whole mappings only, without gaps; nothing is changed unless all of them are.
  std::uint64_t at = address;
  while (at < address + bytes) {
    const auto found = ledger.mappings.find(at);
    if (found == ledger.mappings.end()) return Status::kInvalidValue;
    at += found->second.bytes;
  }
  if (at != address + bytes || bytes == 0) return Status::kInvalidValue;
  for (at = address; at < address + bytes;) {
    const auto found = ledger.mappings.find(at);
    RemoveExtent(at);
    at += found->second.bytes;
    Drop(ledger, found->second.physical);
    ledger.mappings.erase(found);
  }
  return Status::kSuccess;
}

}  // namespace

Status Unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
  const Status status = UnmapInLedger(address, bytes);
  // The lock is not held here: launches that wait in the queue request reservations.
  if (status == Status::kSuccess) value::ProcessPending().Forget(address, bytes);
  return status;
}

Status SetAccess(std::uint64_t address, std::uint64_t bytes, int device, Access access) noexcept {
  if (device >= DeviceCount()) return Status::kInvalidDevice;
  if (bytes == 0 || bytes > kArenaEnd || address > kArenaEnd - bytes) return Status::kInvalidValue;
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const std::uint32_t bit = device < 0 ? 0 : std::uint32_t{1} << device;
  for (std::uint64_t at = address; at < address + bytes;) {
    const auto found = FindMapping(ledger, at);
    if (found == ledger.mappings.end()) return Status::kInvalidValue;
    Mapping& mapping = found->second;
    mapping.readable = access == Access::kNone ? mapping.readable & ~bit : mapping.readable | bit;
    mapping.writable =
        access == Access::kReadWrite ? mapping.writable | bit : mapping.writable & ~bit;
    at = found->first + mapping.bytes;
  }
  return Status::kSuccess;
}

Status GetAccess(std::uint64_t address, int device, Access* access) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const auto found = FindMapping(ledger, address);
  if (found == ledger.mappings.end() || access == nullptr) return Status::kInvalidValue;
  const std::uint32_t bit = device < 0 ? 0 : std::uint32_t{1} << device;
  if ((found->second.writable & bit) != 0) {
    *access = Access::kReadWrite;
  } else {
    *access = (found->second.readable & bit) != 0 ? Access::kRead : Access::kNone;
  }
  return Status::kSuccess;
}

Status ExportPhysical(PhysicalHandle handle, int* descriptor) noexcept {
  VirtualMemory& ledger = Reservations();
  const std::lock_guard guard(ledger.mutex);
  const Physical* physical = Find(handle);
  if (physical == nullptr || descriptor == nullptr) return Status::kInvalidValue;
  const int file = memfd_create("eidolon-memory", MFD_CLOEXEC);
  if (file < 0) return Status::kOutOfMemory;
  const Exported exported{kExportMagic, physical->bytes, physical->properties};
  if (pwrite(file, &exported, sizeof(exported), 0) != static_cast<ssize_t>(sizeof(exported))) {
    close(file);
    return Status::kOutOfMemory;
  }
  *descriptor = file;
  return Status::kSuccess;
}

Status ImportPhysical(int descriptor, PhysicalHandle* handle) noexcept {
  Exported exported;
  if (handle == nullptr ||
      pread(descriptor, &exported, sizeof(exported), 0) != static_cast<ssize_t>(sizeof(exported)) ||
      exported.magic != kExportMagic) {
    return Status::kInvalidValue;
  }
  Physical* physical = Reservations().physicals.Take();
  physical->bytes = exported.bytes;
  physical->properties = exported.properties;
  physical->references = 1;
  physical->imported = true;
  physical->magic = Physical::kMagic;
  *handle = reinterpret_cast<PhysicalHandle>(physical);
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
