// What cudaFree and cuMemFree do beyond giving addresses back: find out what kind of memory it is,
// wait for the device as the real calls do, and forget the values.
#pragma once

#include <cstddef>

#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

// Frees memory of Allocate, of a pool, or managed memory. Null succeeds. Waits for the device
// first.
Status FreeAnyDeviceMemory(void* pointer) noexcept;

// Row pitch that cudaMallocPitch chooses.
constexpr std::size_t PitchOf(std::size_t width) { return (width + 511) / 512 * 512; }

}  // namespace eidolon::shim::gpu
