// The handle is the whole message: it names process, buffer and size, and nothing passes between
// the processes. The memory is opened in the range of reservations, as a real driver would give
// another address too, and is not booked, because its owner has booked it. A buffer's identity is
// its number and not its address, which the owner may use again. Openings are counted per process
// and buffer, since CUDA gives one address for all of them.
#include "shim/gpu/allocation/shared_memory.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint64_t kHandleMagic = 0x6569642d6970630a;

struct Handle {
  std::uint64_t magic = 0;
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t buffer_id = 0;
  std::int32_t process = 0;
  std::uint32_t ring_device = 0;
};
static_assert(sizeof(Handle) <= kIpcHandleBytes);

struct Opened {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int times = 0;
};

struct OpenedTable {
  std::mutex mutex;                                                 // Guards the map.
  std::map<std::pair<std::int32_t, std::uint64_t>, Opened> opened;  // By process and buffer.
};

OpenedTable& OpenedHandles() {
  static OpenedTable* const ledger = new OpenedTable;  // Threads may outlive main.
  return *ledger;
}

int VisibleDevice(std::uint32_t ring_device) {
  for (int device = 0; device < DeviceCount(); ++device) {
    if (RingDevice(device) == ring_device) return device;
  }
  return -1;
}

}  // namespace

Status ExportMemory(std::uint64_t address, char (&handle)[kIpcHandleBytes]) noexcept {
  const auto extent = FindExtent(address);
  if (!extent.has_value()) return Status::kInvalidValue;
  const Handle made{kHandleMagic,  extent->begin,
                    extent->bytes, BufferId(extent->begin),
                    getpid(),      RingDevice(extent->device)};
  std::memset(handle, 0, sizeof(handle));
  std::memcpy(handle, &made, sizeof(made));
  return Status::kSuccess;
}

Status OpenMemory(const char (&handle)[kIpcHandleBytes], std::uint64_t* address) noexcept {
  Handle wanted;
  std::memcpy(&wanted, handle, sizeof(wanted));
  if (wanted.magic != kHandleMagic || wanted.bytes == 0) return Status::kInvalidValue;
  // CUDA refuses a process's own handle.
  if (wanted.process == getpid()) return Status::kInvalidContext;
  const int device = VisibleDevice(wanted.ring_device);
  if (device < 0) return Status::kInvalidDevice;
  OpenedTable& ledger = OpenedHandles();
  const std::lock_guard guard(ledger.mutex);
  Opened& opened = ledger.opened[{wanted.process, wanted.buffer_id}];
  if (opened.times == 0) {
    opened.bytes = (wanted.bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
    const Status status = ReserveRange(opened.bytes, kGranuleBytes, 0, &opened.address);
    if (status != Status::kSuccess) return status;
    AddExtent({.begin = opened.address, .bytes = wanted.bytes, .device = device},
              ExtentKind::kImported);
  }
  ++opened.times;
  *address = opened.address;
  return Status::kSuccess;
}

Status CloseMemory(std::uint64_t address) noexcept {
  OpenedTable& ledger = OpenedHandles();
  const std::lock_guard guard(ledger.mutex);
  for (auto& [key, opened] : ledger.opened) {
    if (opened.times == 0 || opened.address != address) continue;
    if (--opened.times == 0) {
      RemoveExtent(address);
      ReleaseRange(address, opened.bytes);
      value::ProcessPending().Forget(address, opened.bytes);
    }
    return Status::kSuccess;
  }
  return Status::kInvalidValue;
}

}  // namespace eidolon::shim::gpu
