// The runtime knows devices, the driver knows contexts, and both share the thread's stack: a
// runtime call without a current context makes the primary one of device 0 current. The stack lies
// in thread-local storage of fixed size, because the shim may be loaded late and the loader then
// has little of it left. Primary contexts are made once and stay until the process ends, so a
// pointer to one is always good; `active` publishes it without the lock. Only the first context of
// a device books memory.
#include "shim/gpu/context/context.h"

#include <array>
#include <atomic>
#include <mutex>

#include "services/contract/ring/layout.h"
#include "shim/core/call_scope.h"
#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/gpu/context/foreign_runtime.h"
#include "shim/gpu/handle_pool.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

// Static thread storage is scarce for a library that is loaded late, so the stacks are kept short.
constexpr int kDeepestStack = 32;

struct ThreadContexts {
  Context* stack[kDeepestStack];
  int depth;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadContexts thread_contexts{};

struct Contexts {
  std::mutex mutex;  // Guards the making of primary contexts.
  std::array<Context, ring::kMaxDevices> primary;
  std::array<std::atomic<bool>, ring::kMaxDevices> active{};
  std::array<std::uint32_t, ring::kMaxDevices> primary_flags{};
  HandlePool<Context> others;
  std::atomic<std::uint64_t> next_id{1};
};

Contexts& AllContexts() {
  static Contexts* const contexts = new Contexts;  // Threads may outlive main.
  return *contexts;
}

constinit std::atomic<bool> initialized{false};

bool IsDevice(int device) { return device >= 0 && device < DeviceCount(); }

void SetTop(Context* context) {
  ThreadContexts& contexts = thread_contexts;
  if (contexts.depth == 0) contexts.depth = 1;
  contexts.stack[contexts.depth - 1] = context;
}

}  // namespace

Status Initialize() noexcept {
  if (const char* reason = ForeignRuntime(); reason != nullptr) {
    core::CountRefusal(reason);
    return Status::kSystemDriverMismatch;
  }
  if (DeviceCount() == 0) return Status::kNoDevice;
  if (!initialized.exchange(true, std::memory_order_acq_rel)) {
    core::TellOfResource({.event = core::ResourceEvent::kInitialized});
  }
  return Status::kSuccess;
}

bool IsInitialized() noexcept { return initialized.load(std::memory_order_acquire); }

Context* CurrentContext() noexcept {
  const ThreadContexts& contexts = thread_contexts;
  return contexts.depth == 0 ? nullptr : contexts.stack[contexts.depth - 1];
}

Context* LookupContext(ContextHandle handle) noexcept { return FromHandle<Context>(handle); }

bool IsPrimaryActive(int device) noexcept {
  return IsDevice(device) && AllContexts().active[static_cast<std::size_t>(device)].load();
}

Context* PrimaryContext(int device) noexcept {
  if (!IsDevice(device)) return nullptr;
  Contexts& all = AllContexts();
  const auto index = static_cast<std::size_t>(device);
  Context& context = all.primary[index];
  if (all.active[index].load(std::memory_order_acquire)) return &context;
  if (!IsInitialized() && Initialize() != Status::kSuccess) return nullptr;
  {
    const std::lock_guard guard(all.mutex);
    if (all.active[index].load(std::memory_order_acquire)) return &context;
    if (BookContext(device) != Status::kSuccess) return nullptr;
    context.device = device;
    context.primary = true;
    context.flags = all.primary_flags[index];
    context.id = all.next_id.fetch_add(1);
    context.magic = Context::kMagic;
    all.active[index].store(true, std::memory_order_release);
  }
  core::TellOfResource({.event = core::ResourceEvent::kContextCreated, .context = &context});
  return &context;
}

Status EnsureContext() noexcept {
  if (CurrentContext() != nullptr) return Status::kSuccess;
  if (const Status status = Initialize(); status != Status::kSuccess) return status;
  Context* context = PrimaryContext(0);
  if (context == nullptr) return Status::kOutOfMemory;
  SetTop(context);
  return Status::kSuccess;
}

int CurrentDevice() noexcept {
  const Context* context = CurrentContext();
  return context == nullptr ? 0 : context->device;
}

Status SetDevice(int device) noexcept {
  if (const Status status = Initialize(); status != Status::kSuccess) return status;
  if (!IsDevice(device)) return Status::kInvalidDevice;
  const Context* current = CurrentContext();
  if (current != nullptr && current->device == device) return Status::kSuccess;
  Context* context = PrimaryContext(device);
  if (context == nullptr) return Status::kOutOfMemory;
  SetTop(context);
  return Status::kSuccess;
}

Status SetCurrentContext(ContextHandle handle) noexcept {
  ThreadContexts& contexts = thread_contexts;
  if (handle == nullptr) {
    if (contexts.depth > 0) --contexts.depth;
    return Status::kSuccess;
  }
  Context* context = LookupContext(handle);
  if (context == nullptr) return Status::kInvalidContext;
  SetTop(context);
  return Status::kSuccess;
}

Status PushContext(ContextHandle handle) noexcept {
  ThreadContexts& contexts = thread_contexts;
  Context* context = LookupContext(handle);
  if (context == nullptr || contexts.depth == kDeepestStack) return Status::kInvalidContext;
  contexts.stack[contexts.depth++] = context;
  return Status::kSuccess;
}

Status PopContext(ContextHandle* result) noexcept {
  ThreadContexts& contexts = thread_contexts;
  if (contexts.depth == 0) return Status::kInvalidContext;
  Context* context = contexts.stack[--contexts.depth];
  if (result != nullptr) *result = context;
  return Status::kSuccess;
}

Status CreateContext(int device, std::uint32_t flags, ContextHandle* result) noexcept {
  if (result == nullptr) return Status::kInvalidValue;
  // Contexts of one device share its ledger here; the memory of the first is what is booked.
  if (PrimaryContext(device) == nullptr) {
    return IsDevice(device) ? Status::kOutOfMemory : Status::kInvalidDevice;
  }
  Contexts& all = AllContexts();
  Context* context = all.others.Take();
  context->device = device;
  context->primary = false;
  context->flags = flags;
  context->id = all.next_id.fetch_add(1);
  context->magic = Context::kMagic;
  *result = context;
  const Status status = PushContext(context);
  core::TellOfResource({.event = core::ResourceEvent::kContextCreated, .context = context});
  return status;
}

Status DestroyContext(ContextHandle handle) noexcept {
  Context* context = LookupContext(handle);
  if (context == nullptr || context->primary) return Status::kInvalidContext;
  core::TellOfResource({.event = core::ResourceEvent::kContextDestroyStarting, .context = context});
  ThreadContexts& contexts = thread_contexts;
  if (contexts.depth > 0 && contexts.stack[contexts.depth - 1] == context) --contexts.depth;
  AllContexts().others.GiveBack(context);
  return Status::kSuccess;
}

Status RetainPrimaryContext(int device, ContextHandle* result) noexcept {
  if (result == nullptr) return Status::kInvalidValue;
  if (!IsDevice(device)) return Status::kInvalidDevice;
  Context* context = PrimaryContext(device);
  if (context == nullptr) return Status::kOutOfMemory;
  const std::lock_guard guard(AllContexts().mutex);
  ++context->retained;
  *result = context;
  return Status::kSuccess;
}

Status ReleasePrimaryContext(int device) noexcept {
  if (!IsPrimaryActive(device)) return Status::kInvalidContext;
  Contexts& all = AllContexts();
  const std::lock_guard guard(all.mutex);
  Context& context = all.primary[static_cast<std::size_t>(device)];
  // The runtime keeps the context too, so the last release does not end it.
  if (context.retained > 0) --context.retained;
  return Status::kSuccess;
}

Status SetPrimaryFlags(int device, std::uint32_t flags) noexcept {
  if (!IsDevice(device)) return Status::kInvalidDevice;
  Contexts& all = AllContexts();
  const std::lock_guard guard(all.mutex);
  all.primary_flags[static_cast<std::size_t>(device)] = flags;
  all.primary[static_cast<std::size_t>(device)].flags = flags;
  return Status::kSuccess;
}

std::uint32_t PrimaryFlags(int device) noexcept {
  if (!IsDevice(device)) return 0;
  Contexts& all = AllContexts();
  const std::lock_guard guard(all.mutex);
  return all.primary_flags[static_cast<std::size_t>(device)];
}

}  // namespace eidolon::shim::gpu
