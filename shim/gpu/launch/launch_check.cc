#include "shim/gpu/launch/launch_check.h"

#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/occupancy.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint32_t kGridMax = 0x7fffffff;  // x.
constexpr std::uint32_t kGridSideMax = 65535;   // y and z.
constexpr std::uint32_t kBlockMax = 1024;       // x, y and the product.
constexpr std::uint32_t kBlockDepthMax = 64;    // z.
constexpr std::uint32_t kPortableCluster = 8;
constexpr std::uint32_t kLargestCluster = 16;

bool Equals(const workload::Dim3& dims, const std::uint32_t (&other)[3]) {
  return dims.x == other[0] && dims.y == other[1] && dims.z == other[2];
}

Status CheckCluster(const Kernel& kernel, const LaunchShape& shape, const workload::Dim3& cluster) {
  const std::uint64_t blocks = Volume(cluster);
  const std::uint32_t limit = kernel.non_portable_cluster ? kLargestCluster : kPortableCluster;
  if (blocks == 0 || blocks > limit) return Status::kInvalidClusterSize;
  const bool divides = shape.grid.x % cluster.x == 0 && shape.grid.y % cluster.y == 0 &&
                       shape.grid.z % cluster.z == 0;
  return divides ? Status::kSuccess : Status::kInvalidClusterSize;
}

}  // namespace

bool IsPossibleShape(const LaunchShape& shape) noexcept {
  const workload::Dim3& grid = shape.grid;
  const workload::Dim3& block = shape.block;
  // Unsigned wrap-around makes zero fail too.
  return grid.x - 1 < kGridMax && grid.y - 1 < kGridSideMax && grid.z - 1 < kGridSideMax &&
         block.x - 1 < kBlockMax && block.y - 1 < kBlockMax && block.z - 1 < kBlockDepthMax &&
         Volume(block) <= kBlockMax;
}

workload::Dim3 ClusterOf(const Kernel& kernel, const LaunchShape& shape) noexcept {
  if (shape.cluster.x != 0) return shape.cluster;
  const auto& compiled = kernel.row->cluster;
  if (compiled[0] != 0) return {compiled[0], compiled[1], compiled[2]};
  const auto required = static_cast<std::uint32_t>(kernel.required_cluster[0].load());
  if (required == 0) return {};
  return {required, static_cast<std::uint32_t>(kernel.required_cluster[1].load()),
          static_cast<std::uint32_t>(kernel.required_cluster[2].load())};
}

Status CheckShape(const Kernel& kernel, const LaunchShape& shape) noexcept {
  if (!IsPossibleShape(shape)) return Status::kInvalidValue;
  // A bound that the code was compiled for, or what its registers leave.
  const auto& most = kernel.row->block_max;
  const std::uint64_t bound = Volume(workload::Dim3{most[0], most[1], most[2]});
  if (bound != 0 && Volume(shape.block) > bound) return Status::kInvalidValue;
  if (Volume(shape.block) > kernel.block_threads_max) return Status::kLaunchOutOfResources;
  if (kernel.row->block_required[0] != 0 && !Equals(shape.block, kernel.row->block_required)) {
    return Status::kInvalidValue;
  }
  if (shape.dynamic_shared_bytes > kernel.dynamic_shared_max.load(std::memory_order_relaxed)) {
    return Status::kInvalidValue;
  }
  return Status::kSuccess;
}

std::uint32_t BlocksFor(const Kernel& kernel, const LaunchShape& shape,
                        const ring::DeviceProperties& device) noexcept {
  return BlocksPerMultiprocessor(
      device, {.threads = static_cast<std::uint32_t>(Volume(shape.block)),
               .registers = kernel.registers,
               .shared_bytes = kernel.row->static_shared_bytes + shape.dynamic_shared_bytes,
               .barriers = kernel.row->barriers});
}

Status CheckResidency(const Kernel& kernel, const LaunchShape& shape,
                      const ring::DeviceProperties& device, std::uint32_t blocks) noexcept {
  const workload::Dim3 cluster = ClusterOf(kernel, shape);
  if (cluster.x != 0) {
    const Status status = CheckCluster(kernel, shape, cluster);
    if (status != Status::kSuccess) return status;
  }
  if (blocks == 0) return Status::kLaunchOutOfResources;
  if (shape.cooperative && Volume(shape.grid) > std::uint64_t{blocks} * device.multiprocessors) {
    return Status::kCooperativeLaunchTooLarge;
  }
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
