#include "shim/gpu/module/occupancy.h"

#include <algorithm>
#include <limits>

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint32_t kWarp = 32;
constexpr std::uint32_t kPartitions = 4;      // Warp schedulers, each with its own registers.
constexpr std::uint32_t kRegisterUnit = 256;  // Registers are given to warps in these steps.
constexpr std::uint32_t kThreadsPerBlock = 1024;
constexpr std::uint32_t kRegistersPerThread = 255;
constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

template <typename T>
T RoundUp(T value, T unit) {
  return (value + unit - 1) / unit * unit;
}

std::uint32_t RegistersPerWarp(std::uint32_t registers) {
  return RoundUp(registers * kWarp, kRegisterUnit);
}

std::uint32_t ByRegisters(const ring::DeviceProperties& device, const BlockResources& resources,
                          std::uint32_t warps) {
  if (resources.registers > kRegistersPerThread) return 0;
  const std::uint32_t per_warp = RegistersPerWarp(resources.registers);
  if (per_warp == 0) return kUnlimited;
  // The check of one block counts its warps as if they filled all partitions evenly.
  if (per_warp * RoundUp(warps, kPartitions) > device.registers_per_block) return 0;
  const std::uint32_t per_partition = device.registers_per_multiprocessor / kPartitions / per_warp;
  return per_partition * kPartitions / warps;
}

std::uint32_t BySharedMemory(const ring::DeviceProperties& device,
                             const BlockResources& resources) {
  const std::uint64_t unit = device.compute_major >= 8 ? 128 : 256;
  const std::uint64_t used =
      RoundUp<std::uint64_t>(resources.shared_bytes + device.reserved_shared_bytes_per_block, unit);
  if (resources.shared_bytes > device.shared_bytes_per_block_optin) return 0;
  if (used == 0) return kUnlimited;
  return static_cast<std::uint32_t>(device.shared_bytes_per_multiprocessor / used);
}

// From 9.0 on named barriers are a resource too: most members of a family have two per block slot,
// the small ones one.
std::uint32_t ByBarriers(const ring::DeviceProperties& device, const BlockResources& resources) {
  if (resources.barriers == 0 || device.compute_major < 9) return kUnlimited;
  const std::uint32_t capability = device.compute_major * 10 + device.compute_minor;
  const bool single = capability == 101 || capability == 110 || capability >= 120;
  const std::uint32_t available = device.max_blocks_per_multiprocessor * (single ? 1 : 2);
  return available / resources.barriers;
}

}  // namespace

std::uint32_t BlocksPerMultiprocessor(const ring::DeviceProperties& device,
                                      const BlockResources& resources) noexcept {
  if (resources.threads > kThreadsPerBlock) return 0;
  const std::uint32_t warps = RoundUp(resources.threads, kWarp) / kWarp;
  const std::uint32_t by_warps = device.max_threads_per_multiprocessor / kWarp / warps;
  return std::min({device.max_blocks_per_multiprocessor, by_warps,
                   ByRegisters(device, resources, warps), BySharedMemory(device, resources),
                   ByBarriers(device, resources)});
}

std::uint32_t ThreadsPerBlockMax(const ring::DeviceProperties& device,
                                 std::uint32_t registers) noexcept {
  const std::uint32_t per_warp = RegistersPerWarp(registers);
  if (per_warp == 0) return kThreadsPerBlock;
  const std::uint32_t warps = device.registers_per_block / per_warp / kPartitions * kPartitions;
  return std::min(kThreadsPerBlock, warps * kWarp);
}

}  // namespace eidolon::shim::gpu
