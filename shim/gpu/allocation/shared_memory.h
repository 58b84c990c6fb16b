// Device memory shared between processes (cudaIpcGetMemHandle and relatives): a handle describes an
// allocation, opening it gives an address of its own. The memory stays booked with its owner;
// values are not shared, so what another process wrote is unknown here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

inline constexpr std::size_t kIpcHandleBytes = 64;

// Describes the whole allocation that holds the address.
Status ExportMemory(std::uint64_t address, char (&handle)[kIpcHandleBytes]) noexcept;
// The begin of the allocation; opening a handle again gives the same address.
Status OpenMemory(const char (&handle)[kIpcHandleBytes], std::uint64_t* address) noexcept;
Status CloseMemory(std::uint64_t address) noexcept;

}  // namespace eidolon::shim::gpu
