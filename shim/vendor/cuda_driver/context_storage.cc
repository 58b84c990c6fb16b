// A context that is destroyed tells each library that has kept something beside it. Entries are
// taken out under the lock and called without it, because a library may look up its other entries,
// or put new ones. The list is searched linearly: a process has few contexts and few runtimes.
#include "shim/vendor/cuda_driver/context_storage.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "shim/core/spin_lock.h"
#include "shim/gpu/context/context.h"

namespace eidolon::shim::cuda_driver::context_storage {
namespace {

struct Entry {
  gpu::Context* context;
  void* key;
  void* value;
  AtEnd at_end;
};

// A process has a few contexts, and a key for each library that holds a runtime.
struct Store {
  core::SpinLock lock;
  std::vector<Entry> entries;
};

Store& TheStore() {
  static Store* const store = new Store;  // Threads may outlive main.
  return *store;
}

gpu::Context* Resolve(CUcontext context) noexcept {
  return context == nullptr ? gpu::CurrentContext() : gpu::LookupContext(context);
}

// Requires: the store's lock.
Entry* Find(Store& store, const gpu::Context* context, const void* key) noexcept {
  const auto found = std::ranges::find_if(
      store.entries, [&](const Entry& e) { return e.context == context && e.key == key; });
  return found == store.entries.end() ? nullptr : &*found;
}

}  // namespace

CUresult Put(CUcontext context, void* key, void* value, AtEnd at_end) noexcept {
  gpu::Context* const found = Resolve(context);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Store& store = TheStore();
  const std::lock_guard guard(store.lock);
  const Entry entry{found, key, value, at_end};
  if (Entry* old = Find(store, found, key); old != nullptr) {
    *old = entry;
  } else {
    store.entries.push_back(entry);
  }
  return CUDA_SUCCESS;
}

CUresult Remove(CUcontext context, void* key) noexcept {
  const gpu::Context* const found = Resolve(context);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Store& store = TheStore();
  const std::lock_guard guard(store.lock);
  std::erase_if(store.entries, [&](const Entry& e) { return e.context == found && e.key == key; });
  return CUDA_SUCCESS;
}

CUresult Get(void** value, CUcontext context, void* key) noexcept {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const gpu::Context* const found = Resolve(context);
  if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  Store& store = TheStore();
  const std::lock_guard guard(store.lock);
  const Entry* entry = Find(store, found, key);
  if (entry == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *value = entry->value;
  return CUDA_SUCCESS;
}

void End(CUcontext context) noexcept {
  const gpu::Context* const found = gpu::LookupContext(context);
  if (found == nullptr) return;
  std::vector<Entry> ended;
  {
    Store& store = TheStore();
    const std::lock_guard guard(store.lock);
    for (const Entry& entry : store.entries) {
      if (entry.context == found) ended.push_back(entry);
    }
    std::erase_if(store.entries, [&](const Entry& e) { return e.context == found; });
  }
  // Without the lock: the library may ask for its other entries.
  for (const Entry& entry : ended) {
    if (entry.at_end != nullptr) entry.at_end(context, entry.key, entry.value);
  }
}

}  // namespace eidolon::shim::cuda_driver::context_storage
