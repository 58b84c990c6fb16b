#include "shim/gpu/launch/launch_cache.h"

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
  KnownLaunch launch;
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

void KeepInThread(std::uint64_t hash, const KnownLaunch& launch) noexcept {
  if (thread_table == nullptr) thread_table.reset(new (std::nothrow) ThreadTable);
  if (thread_table != nullptr) thread_table->slots[hash % kThreadSlots] = {hash, launch};
}

}  // namespace

KnownLaunch FindLaunch(std::uint64_t hash) noexcept {
  if (thread_table != nullptr) {
    const Slot& slot = thread_table->slots[hash % kThreadSlots];
    if (slot.hash == hash && slot.launch.work != 0) return slot.launch;
  }
  ProcessTable* process = Process();
  if (process == nullptr) return {};
  KnownLaunch launch;
  {
    const std::lock_guard guard(process->lock);
    const Slot& slot = process->slots[hash % kProcessSlots];
    if (slot.hash == hash) launch = slot.launch;
  }
  if (launch.work != 0) KeepInThread(hash, launch);
  return launch;
}

void KeepLaunch(std::uint64_t hash, const KnownLaunch& launch) noexcept {
  KeepInThread(hash, launch);
  if (ProcessTable* process = Process()) {
    const std::lock_guard guard(process->lock);
    process->slots[hash % kProcessSlots] = {hash, launch};
  }
}

}  // namespace eidolon::shim::gpu
