// Observer of the objects that a program makes of a GPU, of its memory, and of its waits: a
// profiler (shim/vendor/cupti). While nobody is, a change pays a load for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace eidolon::shim::core {

// Values equal CUpti_CallbackIdResource.
enum class ResourceEvent : std::uint32_t {
  kContextCreated = 1,
  kContextDestroyStarting = 2,
  kStreamCreated = 3,
  kStreamDestroyStarting = 4,
  kInitialized = 5,
  kModuleLoaded = 6,
  kModuleUnloadStarting = 7,
  kGraphCreated = 9,
  kGraphDestroyStarting = 10,
  kGraphCloned = 11,
  kGraphNodeCreated = 13,
  kGraphNodeDestroyStarting = 14,
  kGraphExecCreateStarting = 17,
  kGraphExecCreated = 18,
  kGraphExecDestroyStarting = 19,
  kGraphNodeCloned = 20,
};

// Objects of an event of graphs; null for those that take no part in it.
struct GraphObjects {
  void* graph = nullptr;
  void* original_graph = nullptr;
  void* node = nullptr;
  void* original_node = nullptr;
  std::uint32_t node_type = 0;  // As in CUgraphNodeType.
  void* exec = nullptr;
};

struct ResourceChange {
  ResourceEvent event;
  // Handles as the program has them. Modules belong to no context here.
  void* context = nullptr;
  void* stream = nullptr;
  // Applies to a module: its number, and the cubin that the device runs; empty for PTX.
  std::uint32_t module = 0;
  std::span<const std::byte> cubin;
  GraphObjects graph;
};

// A pool of stream-ordered memory.
struct MemoryPoolState {
  std::uint64_t handle = 0;
  std::uint64_t release_threshold = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
};

enum class MemoryPlace : std::uint8_t { kDevice, kPinned, kManaged };

// The program allocated memory, or freed it.
struct MemoryChange {
  bool is_release = false;
  MemoryPlace place = MemoryPlace::kDevice;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  int device = 0;
  // Applies to events that a stream orders.
  void* stream = nullptr;
  std::optional<MemoryPoolState> pool;
};

enum class PoolEvent : std::uint8_t { kCreated, kDestroyed, kTrimmed };

struct PoolChange {
  PoolEvent event = PoolEvent::kCreated;
  int device = 0;
  std::uint64_t kept_bytes = 0;  // At least, of a pool that is trimmed.
  MemoryPoolState pool;
};

// Told on the thread that makes the change, which holds no lock of the shim: what is told may call
// CUDA.
class ResourceObserver {
 public:
  virtual void ResourceChanged(const ResourceChange& change) noexcept = 0;
  virtual void MemoryChanged(const MemoryChange& change) noexcept = 0;
  virtual void PoolChanged(const PoolChange& change) noexcept = 0;
  // The program's wait for a stream is over.
  virtual void StreamSynchronized(void* context, void* stream) noexcept = 0;
  // The same for all of a context.
  virtual void ContextSynchronized(void* context) noexcept = 0;

 protected:
  ~ResourceObserver() = default;  // Observers live as long as the process.
};

inline constinit std::atomic<ResourceObserver*> resource_observer{nullptr};

// Null: nobody.
inline ResourceObserver* WhoSeesResources() noexcept {
  return resource_observer.load(std::memory_order_acquire);
}
inline void ObserveResources(ResourceObserver* observer) noexcept {
  resource_observer.store(observer, std::memory_order_release);
}

inline void TellOfResource(const ResourceChange& change) noexcept {
  if (ResourceObserver* const observer = WhoSeesResources()) observer->ResourceChanged(change);
}
inline void TellOfMemory(const MemoryChange& change) noexcept {
  if (ResourceObserver* const observer = WhoSeesResources()) observer->MemoryChanged(change);
}
inline void TellOfPool(const PoolChange& change) noexcept {
  if (ResourceObserver* const observer = WhoSeesResources()) observer->PoolChanged(change);
}
inline void TellOfStreamWait(void* context, void* stream) noexcept {
  if (ResourceObserver* const observer = WhoSeesResources()) {
    observer->StreamSynchronized(context, stream);
  }
}
inline void TellOfContextWait(void* context) noexcept {
  if (ResourceObserver* const observer = WhoSeesResources()) {
    observer->ContextSynchronized(context);
  }
}

}  // namespace eidolon::shim::core
