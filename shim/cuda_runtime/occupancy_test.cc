// Our occupancy rules against the vendor's own calculator.
#include "shim/gpu/module/occupancy.h"

#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include "shim/core/fake_agent.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {
namespace {

struct Model {
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t threads;
  std::uint32_t blocks;
  std::uint32_t shared;
  std::uint32_t optin;
};
// Published limits of each compute capability.
constexpr Model kModels[] = {
    {7, 5, 1024, 16, 65536, 65536},    {8, 0, 2048, 32, 167936, 166912},
    {8, 6, 1536, 16, 102400, 101376},  {8, 9, 1536, 24, 102400, 101376},
    {9, 0, 2048, 32, 233472, 232448},  {10, 0, 2048, 32, 233472, 232448},
    {10, 3, 2048, 32, 233472, 232448}, {12, 0, 1536, 24, 102400, 101376},
};

ring::DeviceProperties DeviceOf(const Model& model) {
  ring::DeviceProperties device = core::DefaultDevice(0);
  device.compute_major = model.major;
  device.compute_minor = model.minor;
  device.max_threads_per_multiprocessor = model.threads;
  device.max_blocks_per_multiprocessor = model.blocks;
  device.shared_bytes_per_multiprocessor = model.shared;
  device.shared_bytes_per_block_optin = model.optin;
  device.reserved_shared_bytes_per_block = model.major >= 8 ? 1024 : 0;
  return device;
}

int Expected(const ring::DeviceProperties& device, const BlockResources& resources) {
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(device.compute_major);
  properties.computeMinor = static_cast<int>(device.compute_minor);
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = static_cast<int>(device.max_threads_per_multiprocessor);
  properties.regsPerBlock = 65536;
  properties.regsPerMultiprocessor = 65536;
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 49152;
  properties.sharedMemPerMultiprocessor = device.shared_bytes_per_multiprocessor;
  properties.numSms = static_cast<int>(device.multiprocessors);
  properties.sharedMemPerBlockOptin = device.shared_bytes_per_block_optin;
  properties.reservedSharedMemPerBlock = device.reserved_shared_bytes_per_block;
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = static_cast<int>(resources.registers);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = resources.shared_bytes;
  attributes.numBlockBarriers = static_cast<int>(resources.barriers);
  cudaOccDeviceState state;
  cudaOccResult result;
  const auto error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, static_cast<int>(resources.threads),
      resources.shared_bytes);
  EXPECT_EQ(error, CUDA_OCC_SUCCESS);
  return result.activeBlocksPerMultiprocessor;
}

TEST(OccupancyTest, AgreesWithTheVendorsCalculator) {
  int cases = 0;
  for (const Model& model : kModels) {
    const ring::DeviceProperties device = DeviceOf(model);
    for (std::uint32_t threads :
         {1u, 32u, 33u, 64u, 96u, 128u, 192u, 256u, 384u, 512u, 640u, 1024u}) {
      for (std::uint32_t registers : {16u, 24u, 32u, 40u, 64u, 72u, 96u, 128u, 168u, 255u}) {
        for (std::uint32_t shared : {0u, 100u, 1024u, 5000u, 16384u, 33000u, 49152u, 65000u,
                                     101376u, 166912u, 200000u, 232448u}) {
          for (std::uint32_t barriers : {0u, 1u, 3u, 16u}) {
            const BlockResources resources{threads, registers, shared, barriers};
            const auto found = BlocksPerMultiprocessor(device, resources);
            ASSERT_EQ(static_cast<int>(found), Expected(device, resources))
                << "sm_" << model.major << model.minor << " threads " << threads << " registers "
                << registers << " shared " << shared << " barriers " << barriers;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 8 * 12 * 10 * 12 * 4);
}

TEST(OccupancyTest, RegistersLimitTheBlockSize) {
  const ring::DeviceProperties device = core::DefaultDevice(0);
  EXPECT_EQ(ThreadsPerBlockMax(device, 32), 1024u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 64), 1024u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 72), 896u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 128), 512u);
  EXPECT_EQ(ThreadsPerBlockMax(device, 255), 256u);
}

}  // namespace
}  // namespace eidolon::shim::gpu
