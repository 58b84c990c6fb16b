// What cudaMalloc does beyond booking: a profiler is told. What cudaFree and cuMemFree do beyond
// giving addresses back: find out what kind of memory it is, wait for the device as the real calls
// do, and forget the values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// Allocates for the program on the calling thread's current device.
Status AllocateDeviceMemory(std::uint64_t bytes, std::uint64_t* address) noexcept;

// Frees memory of Allocate, of a pool, or managed memory. Null succeeds. Waits for the device
// first.
Status FreeAnyDeviceMemory(void* pointer) noexcept;

// Row pitch that cudaMallocPitch chooses.
constexpr std::size_t PitchOf(std::size_t width) { return (width + 511) / 512 * 512; }

// Bytes of `rows` rows of such a pitch; SIZE_MAX, which no device has, when that is too many to
// count.
constexpr std::size_t PitchedBytes(std::size_t width, std::size_t rows) {
  if (width > SIZE_MAX - 511) return rows == 0 ? 0 : SIZE_MAX;
  std::size_t bytes = 0;
  return __builtin_mul_overflow(PitchOf(width), rows, &bytes) ? SIZE_MAX : bytes;
}

}  // namespace eidolon::shim::gpu
