// What an address is: emulated device memory, managed, page-locked or plain host memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::gpu {

enum class PointerKind { kUnregistered, kHost, kDevice, kManaged };

struct PointerInfo {
  PointerKind kind = PointerKind::kUnregistered;
  int device = -1;
  std::uint64_t begin = 0;  // Of the allocation.
  std::uint64_t bytes = 0;
  std::uint32_t host_flags = 0;
  bool registered = false;  // Host memory of the program's own, registered later.
};

// An address in the arena that no allocation holds is kUnregistered.
PointerInfo Inspect(const void* pointer) noexcept;

}  // namespace eidolon::shim::gpu
