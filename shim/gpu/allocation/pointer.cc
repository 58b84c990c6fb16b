#include "shim/gpu/allocation/pointer.h"

#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/memory/arena.h"

namespace eidolon::shim::gpu {

PointerInfo Inspect(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (IsDeviceAddress(address)) {
    const auto extent = FindExtent(address);
    if (!extent.has_value()) return {};
    return {PointerKind::kDevice, extent->device, extent->begin, extent->bytes, 0, false};
  }
  const auto range = FindHostRange(pointer);
  if (!range.has_value()) return {};
  const PointerKind kind =
      range->kind == HostKind::kManaged ? PointerKind::kManaged : PointerKind::kHost;
  return {kind,         range->device, range->begin,
          range->bytes, range->flags,  range->kind == HostKind::kRegistered};
}

}  // namespace eidolon::shim::gpu
