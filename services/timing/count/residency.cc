#include "services/timing/count/residency.h"

#include <algorithm>
#include <cmath>

#include "services/contract/machine/machine.h"

namespace eidolon::timing::count {

double ResidentBlocks(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu) {
  if (launch.blocks_per_multiprocessor > 0) return launch.blocks_per_multiprocessor;
  const double threads = std::max(1.0, static_cast<double>(launch.block.Count()));
  const double warps = std::ceil(threads / machine::kWarpLanes);
  double blocks = std::min<double>(
      gpu.max_blocks_per_multiprocessor,
      std::floor(gpu.max_threads_per_multiprocessor / (machine::kWarpLanes * warps)));
  const double registers = std::max(launch.registers, 16u);
  blocks = std::min(blocks, std::floor(gpu.registers_per_multiprocessor /
                                       (registers * machine::kWarpLanes * warps)));
  const double shared = launch.static_shared_bytes + launch.dynamic_shared_bytes +
                        double{machine::kReservedSharedBytes};
  blocks = std::min(blocks,
                    std::floor(static_cast<double>(gpu.shared_bytes_per_multiprocessor) / shared));
  return std::max(1.0, blocks);
}

double CachedBytes(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu,
                   double resident) {
  const double all =
      static_cast<double>(gpu.shared_bytes_per_multiprocessor) + machine::kCacheBesideSharedBytes;
  const double shared = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  return std::max(machine::kCacheBesideSharedBytes, all - resident * shared) / resident;
}

}  // namespace eidolon::timing::count
