// nvcc's generated code registers tens of thousands of kernels before main, so registering must
// cost next to nothing and may rely on nothing: the objects are constant-initialised, and an entry
// is appended to a chunk. The index is built from new entries at the first look-up that misses. Its
// table is read without a lock; a larger one replaces it as a whole, and old ones stay, because
// readers may be in them. An address that is registered again belongs to the later object: dlclose
// frees addresses, and dlopen may give them out again.
#include "shim/gpu/module/host_symbols.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "services/base/hash.h"
#include "shim/core/spin_lock.h"

namespace eidolon::shim::gpu {
namespace {

struct Entry {
  const void* host;
  const char* name;
  Library* library;
  std::atomic<Kernel*> kernel;  // Once found.
};

// Entries in the order of registration. Constant-initialised: constructors of other objects
// register before ours run.
class Registry {
 public:
  // Few nanoseconds: a store into the current chunk.
  void Add(Library* library, const void* host, const char* name) noexcept {
    const std::lock_guard guard(lock_);
    if (last_ == nullptr || last_->used == kChunkEntries) {
      auto* chunk = new (std::nothrow) Chunk;
      if (chunk == nullptr) return;
      (last_ == nullptr ? first_ : last_->next) = chunk;
      last_ = chunk;
    }
    Entry& entry = last_->entries[last_->used++];
    entry.host = host;
    entry.name = name;
    entry.library = library;
    entry.kernel.store(nullptr, std::memory_order_relaxed);
  }

  // The living entry of a host address, or nullptr.
  Entry* Find(const void* host) noexcept {
    if (Entry* entry = Probe(table_.load(std::memory_order_acquire), host)) return entry;
    const std::lock_guard guard(indexing_);
    IndexNew();
    return Probe(table_.load(std::memory_order_relaxed), host);
  }

 private:
  static constexpr std::size_t kChunkEntries = 1024;
  struct Chunk {
    std::size_t used = 0;
    Chunk* next = nullptr;
    Entry entries[kChunkEntries];
  };
  // Open addressing, at most half full. Old tables stay: readers may still be in them.
  struct Table {
    std::size_t mask;
    std::size_t used;
    std::unique_ptr<std::atomic<Entry*>[]> slots;
    Table* previous;
  };

  static std::size_t SlotOf(const Table& table, const void* host) {
    const auto address = reinterpret_cast<std::uintptr_t>(host);
    return (address * 0x9e3779b97f4a7c15u >> 32) & table.mask;
  }

  static Entry* Probe(const Table* table, const void* host) noexcept {
    if (table == nullptr) return nullptr;
    for (std::size_t at = SlotOf(*table, host);; at = (at + 1) & table->mask) {
      Entry* entry = table->slots[at].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->host == host) return entry->library->alive() ? entry : nullptr;
    }
  }

  // A later registration of an address takes the place of an earlier one: that object is gone.
  static void Put(Table& table, Entry* entry) noexcept {
    std::size_t at = SlotOf(table, entry->host);
    for (Entry* found; (found = table.slots[at].load(std::memory_order_relaxed)) != nullptr;
         at = (at + 1) & table.mask) {
      if (found->host == entry->host) break;
    }
    if (table.slots[at].load(std::memory_order_relaxed) == nullptr) ++table.used;
    table.slots[at].store(entry, std::memory_order_release);
  }

  // Requires: indexing_ held.
  void IndexNew() noexcept {
    while (true) {
      Entry* entry = NextUnindexed();
      if (entry == nullptr) return;
      Table* table = table_.load(std::memory_order_relaxed);
      if (table == nullptr || table->used * 2 >= table->mask) table = Grow(table);
      if (table == nullptr) return;
      Put(*table, entry);
    }
  }

  Entry* NextUnindexed() noexcept {
    const std::lock_guard guard(lock_);
    if (indexed_chunk_ == nullptr) indexed_chunk_ = first_;
    if (indexed_chunk_ == nullptr) return nullptr;
    if (indexed_ == indexed_chunk_->used && indexed_chunk_->next != nullptr) {
      indexed_chunk_ = indexed_chunk_->next;
      indexed_ = 0;
    }
    if (indexed_ == indexed_chunk_->used) return nullptr;
    return &indexed_chunk_->entries[indexed_++];
  }

  Table* Grow(Table* old) noexcept {
    constexpr std::size_t kFirstSize = 4096;
    const std::size_t size = old == nullptr ? kFirstSize : (old->mask + 1) * 2;
    auto* table = new (std::nothrow) Table{size - 1, 0, {}, old};
    if (table == nullptr) return nullptr;
    table->slots.reset(new (std::nothrow) std::atomic<Entry*>[size]());
    if (table->slots == nullptr) return nullptr;
    for (std::size_t i = 0; old != nullptr && i <= old->mask; ++i) {
      if (Entry* entry = old->slots[i].load(std::memory_order_relaxed)) Put(*table, entry);
    }
    table_.store(table, std::memory_order_release);
    return table;
  }

  core::SpinLock lock_;  // Guards the chunks and the two marks below.
  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  Chunk* indexed_chunk_ = nullptr;
  std::size_t indexed_ = 0;
  std::mutex indexing_;  // Guards changes of the table.
  std::atomic<Table*> table_{nullptr};
};

constinit Registry kernels;
constinit Registry variables;

}  // namespace

Library* RegisterBinary(const void* image) noexcept { return new (std::nothrow) Library(image); }

void RegisterKernel(Library* library, const void* host, const char* name) noexcept {
  if (library != nullptr) kernels.Add(library, host, name);
}

void RegisterVariable(Library* library, const void* host, const char* name) noexcept {
  if (library != nullptr) variables.Add(library, host, name);
}

void UnregisterBinary(Library* library) noexcept {
  if (library != nullptr) library->Unload();
}

Status FindHostKernel(const void* host, Kernel** result) noexcept {
  Entry* entry = kernels.Find(host);
  if (entry == nullptr) return Status::kNotFound;
  Kernel* kernel = entry->kernel.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    const Status status = entry->library->FindKernel(entry->name, &kernel);
    if (status != Status::kSuccess) return status;
    entry->kernel.store(kernel, std::memory_order_release);
  }
  *result = kernel;
  return Status::kSuccess;
}

Status FindHostVariable(const void* host, int device, Variable* result) noexcept {
  const Entry* entry = variables.Find(host);
  if (entry == nullptr) return Status::kNotFound;
  return entry->library->FindVariable(entry->name, device, result);
}

}  // namespace eidolon::shim::gpu
