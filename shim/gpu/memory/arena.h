// Emulated device memory: address ranges that are reserved and never backed by RAM (PROT_NONE).
// This header has only what hot paths ask; allocation is in memory.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace eidolon::shim::gpu {

// All emulated device memory of a process lies here, whatever the device; see memory.h. Parameter
// blocks hold pairs of 32-bit sizes too, and a pair looks like an address when its upper number
// lies in the upper half of one. So the start is not a round number that sizes resemble, and what
// blanks pointers asks HoldsDeviceAddress, which knows how far memory was ever handed out.
inline constexpr std::uint64_t kArenaBegin = 0x6b0100000000;
inline constexpr std::uint64_t kArenaEnd = 0x7b0100000000;

// The thread sanitizer keeps its heap within that range, where the last three of sixteen GPUs would
// be: what a test allocates itself is the host's. Empty without it.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EIDOLON_HEAP_OF_SANITIZER
#endif
#endif
#ifdef EIDOLON_HEAP_OF_SANITIZER
inline constexpr std::uint64_t kSanitizerBegin = 0x720000000000;
inline constexpr std::uint64_t kSanitizerEnd = 0x730000000000;
#undef EIDOLON_HEAP_OF_SANITIZER
#else
inline constexpr std::uint64_t kSanitizerBegin = 0;
inline constexpr std::uint64_t kSanitizerEnd = 0;
#endif

// True when the address lies in emulated device memory, allocated or not. For values that are
// addresses.
inline bool IsDeviceAddress(std::uint64_t address) noexcept {
  return address - kArenaBegin < kArenaEnd - kArenaBegin &&
         address - kSanitizerBegin >= kSanitizerEnd - kSanitizerBegin;
}

// The arena in windows of 512 GiB: a device each, then ranges. Of each, the bytes from its begin to
// the end of what was handed out, ever; only grows.
inline constexpr int kArenaWindowBits = 39;
inline constexpr std::size_t kArenaWindows =
    static_cast<std::size_t>((kArenaEnd - kArenaBegin) >> kArenaWindowBits);
inline std::array<std::atomic<std::uint64_t>, kArenaWindows> arena_used{};

// True when memory at this address was handed out at some time. For words that may be addresses.
inline bool HoldsDeviceAddress(std::uint64_t word) noexcept {
  const std::uint64_t offset = word - kArenaBegin;
  if (offset >= kArenaEnd - kArenaBegin) return false;
  const std::uint64_t in_window = offset & ((std::uint64_t{1} << kArenaWindowBits) - 1);
  return in_window < arena_used[static_cast<std::size_t>(offset >> kArenaWindowBits)].load(
                         std::memory_order_relaxed);
}

// Another number whenever the answers of FindExtent and FindReservation may have changed.
inline std::atomic<std::uint64_t> arena_version{1};
inline void NoteArenaChange() noexcept { arena_version.fetch_add(1, std::memory_order_acq_rel); }

// The device whose reservation holds the address, or -1.
int DeviceOfAddress(std::uint64_t address) noexcept;

// A live allocation or mapping that holds the address.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  int device = 0;
};
std::optional<Extent> FindExtent(std::uint64_t address) noexcept;

}  // namespace eidolon::shim::gpu
