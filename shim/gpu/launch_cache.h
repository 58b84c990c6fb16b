// The works of recent launches by the hash of kernel, shape and parameters, so that a repeated
// launch neither builds nor compares its definition. One small direct-mapped table per thread,
// without locks, before one for the process. Two different launches with one 64-bit hash are taken
// to be equal.
#pragma once

#include <cstdint>

namespace eidolon::shim::gpu {

// The work kept for the hash, or 0.
std::uint32_t FindLaunch(std::uint64_t hash) noexcept;

void KeepLaunch(std::uint64_t hash, std::uint32_t work) noexcept;

}  // namespace eidolon::shim::gpu
