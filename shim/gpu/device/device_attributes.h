// Device attributes by CUDA's numbers (CUdevice_attribute and cudaDeviceAttr agree), device limits,
// and what devices of one server may do to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

inline constexpr int kWarpSize = 32;

// Nothing for a number that no toolkit knows. Requires: 0 <= device < DeviceCount().
std::optional<int> DeviceAttribute(int device, int number) noexcept;

// CUlimit and cudaLimit by number; kind 0: stack size, ... Values are kept and mean nothing to
// timing.
Status GetLimit(int device, int limit, std::size_t* value) noexcept;
Status SetLimit(int device, int limit, std::size_t value) noexcept;

// True when device may read and write the peer's memory.
bool CanAccessPeer(int device, int peer) noexcept;
// CUdevice_P2PAttribute by number.
std::optional<int> PeerAttribute(int number, int device, int peer) noexcept;
Status EnablePeerAccess(int device, int peer) noexcept;
Status DisablePeerAccess(int device, int peer) noexcept;

// "0000:1B:00.0". Requires: length > 0.
void FormatPciBusId(int device, char* text, int length) noexcept;
// Domain, bus and device must match; -1 when none does.
int FindPciBusId(const char* text) noexcept;

}  // namespace eidolon::shim::gpu
