#include "services/timing/count/residency.h"

#include <algorithm>
#include <cmath>

namespace eidolon::timing::count {

double ResidentBlocks(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu) {
  if (launch.blocks_per_multiprocessor > 0) return launch.blocks_per_multiprocessor;
  const double threads = std::max(1.0, static_cast<double>(launch.block.Count()));
  const double warps = std::ceil(threads / 32);
  double blocks = std::min<double>(gpu.max_blocks_per_multiprocessor,
                                   std::floor(gpu.max_threads_per_multiprocessor / (32 * warps)));
  const double registers = std::max(launch.registers, 16u);
  blocks =
      std::min(blocks, std::floor(gpu.registers_per_multiprocessor / (registers * 32 * warps)));
  const double shared = launch.static_shared_bytes + launch.dynamic_shared_bytes + 1024.0;
  blocks = std::min(blocks,
                    std::floor(static_cast<double>(gpu.shared_bytes_per_multiprocessor) / shared));
  return std::max(1.0, blocks);
}

double CachedBytes(const kernel::KernelLaunch& launch, const gpu_model::GpuModel& gpu,
                   double resident) {
  constexpr double kBesideShared = 28 << 10;  // CUDA C++ Programming Guide 13.0, 8.0 and 9.0.
  const double all = static_cast<double>(gpu.shared_bytes_per_multiprocessor) + kBesideShared;
  const double shared = launch.static_shared_bytes + launch.dynamic_shared_bytes;
  return std::max(kBesideShared, all - resident * shared) / resident;
}

}  // namespace eidolon::timing::count
