#include "shim/gpu/allocation/device_memory.h"

#include <cstdint>

#include "services/contract/ring/record.h"
#include "shim/core/resource_observer.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/pool.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/waiting.h"
#include "shim/value/pending.h"

namespace eidolon::shim::gpu {

Status AllocateDeviceMemory(std::uint64_t bytes, std::uint64_t* address) noexcept {
  const int device = CurrentDevice();
  const Status status = Allocate(device, bytes, address);
  if (status == Status::kSuccess && *address != 0) {
    core::TellOfMemory({.address = *address, .bytes = bytes, .device = device});
    if (IsCleared(*address)) value::ProcessPending().Fill(*address, 0, 1, bytes);
  }
  return status;
}

Status FreeAnyDeviceMemory(void* pointer) noexcept {
  if (pointer == nullptr) return EnsureContext();  // Programs call it to make a context.
  if (const Status status = CheckUnsafeCall(); status != Status::kSuccess) return status;
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto extent = FindExtent(address);
  const int device = extent.has_value() ? extent->device : CurrentDevice();
  if (const Status waited = WaitForDevice(device); waited != Status::kSuccess) return waited;
  if (!extent.has_value()) return FreeManaged(pointer);
  Status status = FreePooled(address);
  if (status == Status::kNotFound) status = Free(address);
  if (status != Status::kSuccess) return status;
  value::ProcessPending().Forget(address, extent->bytes);
  core::TellOfMemory(
      {.is_release = true, .address = address, .bytes = extent->bytes, .device = device});
  return status;
}

}  // namespace eidolon::shim::gpu
