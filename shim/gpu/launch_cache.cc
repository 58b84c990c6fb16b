#include "shim/gpu/launch_cache.h"

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>

#include "shim/core/spin_lock.h"

namespace eidolon::shim::gpu {
namespace {

struct Slot {
  std::uint64_t hash = 0;
  std::uint32_t work = 0;  // 0: empty.
};

// A training step of a large model has a few thousand distinct launches.
constexpr std::size_t kThreadSlots = 4096;
constexpr std::size_t kProcessSlots = 1 << 14;

struct ThreadTable {
  std::array<Slot, kThreadSlots> slots;
};
thread_local std::unique_ptr<ThreadTable> thread_table;

// Collisions overwrite: the session's own table finds equal definitions again.
struct ProcessTable {
  core::SpinLock lock;  // Guards slots.
  std::array<Slot, kProcessSlots> slots;
};

ProcessTable* Process() {
  static ProcessTable* const table = new (std::nothrow) ProcessTable;
  return table;
}

void KeepInThread(std::uint64_t hash, std::uint32_t work) noexcept {
  if (thread_table == nullptr) thread_table.reset(new (std::nothrow) ThreadTable);
  if (thread_table != nullptr) thread_table->slots[hash % kThreadSlots] = {hash, work};
}

}  // namespace

std::uint32_t FindLaunch(std::uint64_t hash) noexcept {
  if (thread_table != nullptr) {
    const Slot& slot = thread_table->slots[hash % kThreadSlots];
    if (slot.hash == hash && slot.work != 0) return slot.work;
  }
  ProcessTable* process = Process();
  if (process == nullptr) return 0;
  std::uint32_t work = 0;
  {
    const std::lock_guard guard(process->lock);
    const Slot& slot = process->slots[hash % kProcessSlots];
    if (slot.hash == hash) work = slot.work;
  }
  if (work != 0) KeepInThread(hash, work);
  return work;
}

void KeepLaunch(std::uint64_t hash, std::uint32_t work) noexcept {
  KeepInThread(hash, work);
  if (ProcessTable* process = Process()) {
    const std::lock_guard guard(process->lock);
    process->slots[hash % kProcessSlots] = {hash, work};
  }
}

}  // namespace eidolon::shim::gpu
