// The same kernels through our rules and through the vendor's own (cuda_occupancy.h of the
// toolkit), on every compute capability that we know.
#include "shim/gpu/module/occupancy.h"

#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>
#include <string>

#include "services/base/random.h"
#include "services/base/text.h"

namespace eidolon::shim::gpu {
namespace {

struct Capability {
  std::uint32_t major, minor;
  std::uint32_t threads, blocks;  // Of a multiprocessor.
  std::uint32_t shared,
      shared_block;        // KiB of a multiprocessor; of a block that asks for the most.
  std::uint32_t reserved;  // Bytes.
};

// CUDA C Programming Guide 13.0, capability table.
constexpr Capability kCapabilities[] = {
    {7, 5, 1024, 16, 64, 64, 0},       {8, 0, 2048, 32, 164, 163, 1024},
    {8, 6, 1536, 16, 100, 99, 1024},   {8, 9, 1536, 24, 100, 99, 1024},
    {9, 0, 2048, 32, 228, 227, 1024},  {10, 0, 2048, 32, 228, 227, 1024},
    {10, 3, 2048, 32, 228, 227, 1024}, {11, 0, 1536, 24, 228, 227, 1024},
    {12, 0, 1536, 24, 100, 99, 1024},  {12, 1, 1536, 24, 100, 99, 1024}};

ring::DeviceProperties DeviceOf(const Capability& capability) {
  ring::DeviceProperties device{};
  device.compute_major = capability.major;
  device.compute_minor = capability.minor;
  device.multiprocessors = 100;
  device.max_threads_per_multiprocessor = capability.threads;
  device.max_blocks_per_multiprocessor = capability.blocks;
  device.registers_per_multiprocessor = 65536;
  device.registers_per_block = 65536;
  device.shared_bytes_per_multiprocessor = capability.shared << 10;
  device.shared_bytes_per_block = 48 << 10;
  device.shared_bytes_per_block_optin = capability.shared_block << 10;
  device.reserved_shared_bytes_per_block = capability.reserved;
  return device;
}

int TheirBlocks(const ring::DeviceProperties& device, const BlockResources& resources) {
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(device.compute_major);
  properties.computeMinor = static_cast<int>(device.compute_minor);
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = static_cast<int>(device.max_threads_per_multiprocessor);
  properties.regsPerBlock = static_cast<int>(device.registers_per_block);
  properties.regsPerMultiprocessor = static_cast<int>(device.registers_per_multiprocessor);
  properties.warpSize = 32;
  properties.sharedMemPerBlock = device.shared_bytes_per_block;
  properties.sharedMemPerMultiprocessor = device.shared_bytes_per_multiprocessor;
  properties.numSms = static_cast<int>(device.multiprocessors);
  properties.sharedMemPerBlockOptin = device.shared_bytes_per_block_optin;
  properties.reservedSharedMemPerBlock = device.reserved_shared_bytes_per_block;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = INT_MAX;
  attributes.numRegs = static_cast<int>(resources.registers);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = device.shared_bytes_per_block_optin;
  attributes.numBlockBarriers = static_cast<int>(resources.barriers);
  const cudaOccDeviceState state;
  cudaOccResult result;
  const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, static_cast<int>(resources.threads),
      resources.shared_bytes);
  EXPECT_EQ(error, CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST(OccupancyTest, CommonKernelsHaveTheBlocksThatTheVendorSays) {
  int cases = 0;
  for (const Capability& capability : kCapabilities) {
    const ring::DeviceProperties device = DeviceOf(capability);
    for (std::uint32_t threads :
         {1u, 32u, 33u, 64u, 96u, 128u, 192u, 256u, 384u, 512u, 640u, 1024u}) {
      for (std::uint32_t registers : {16u, 24u, 32u, 40u, 64u, 72u, 96u, 128u, 168u, 255u}) {
        for (std::uint32_t shared : {0u, 100u, 1024u, 5000u, 16384u, 33000u, 49152u, 65000u,
                                     101376u, 166912u, 200000u, 232448u}) {
          for (std::uint32_t barriers : {0u, 1u, 3u, 16u}) {
            const BlockResources resources{threads, registers, shared, barriers};
            const auto found = BlocksPerMultiprocessor(device, resources);
            ASSERT_EQ(static_cast<int>(found), TheirBlocks(device, resources))
                << "sm_" << capability.major << capability.minor << " threads " << threads
                << " registers " << registers << " shared " << shared << " barriers " << barriers;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 10 * 12 * 10 * 12 * 4);
}

TEST(OccupancyTest, RandomKernelsHaveTheBlocksThatTheVendorSays) {
  base::Random random(7);
  for (const Capability& capability : kCapabilities) {
    const ring::DeviceProperties device = DeviceOf(capability);
    const std::uint64_t shared_end = device.shared_bytes_per_block_optin + 2048;
    for (int i = 0; i < 20'000; ++i) {
      const BlockResources resources{
          .threads = static_cast<std::uint32_t>(1 + random.Below(1100)),
          .registers = static_cast<std::uint32_t>(random.Below(256)),
          .shared_bytes = random.Below(3) == 0 ? 0 : random.Below(shared_end),
          .barriers = static_cast<std::uint32_t>(random.Below(17))};
      ASSERT_EQ(static_cast<int>(BlocksPerMultiprocessor(device, resources)),
                TheirBlocks(device, resources))
          << base::StrCat(capability.major, ".", capability.minor, ": ", resources.threads,
                          " threads, ", resources.registers, " registers, ", resources.shared_bytes,
                          " bytes, ", resources.barriers, " barriers");
    }
  }
}

TEST(OccupancyTest, TheLargestBlockFitsAndTheNextWarpDoesNot) {
  const ring::DeviceProperties device = DeviceOf({9, 0, 2048, 32, 228, 227, 1024});
  for (std::uint32_t registers = 1; registers < 256; ++registers) {
    const std::uint32_t most = ThreadsPerBlockMax(device, registers);
    EXPECT_GT(TheirBlocks(device, {.threads = most, .registers = registers}), 0) << registers;
    if (most == 1024) continue;
    EXPECT_EQ(TheirBlocks(device, {.threads = most + 1, .registers = registers}), 0) << registers;
  }
}

TEST(OccupancyTest, RegistersLimitTheBlockSize) {
  const ring::DeviceProperties device = DeviceOf({9, 0, 2048, 32, 228, 227, 1024});
  EXPECT_EQ(ThreadsPerBlockMax(device, 32), 1024u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 64), 1024u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 72), 896u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 128), 512u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 255), 256u);
}

}  // namespace
}  // namespace eidolon::shim::gpu
