// Occupancy decides the grids that programs launch (persistent kernels, cooperative launches), so
// it follows the rules of CUDA's occupancy calculator from the device's limits and the kernel's own
// needs, and not a formula that is merely close. For clusters CUDA publishes no rule: a cluster has
// to lie within a group of multiprocessors, and the size of that group is an assumption
// (kGpcMultiprocessors). Attributes that a program sets are atomic, because launches in other
// threads read them.
#include "shim/gpu/module/function.h"

#include <algorithm>

#include "shim/gpu/device/device.h"
#include "shim/gpu/module/occupancy.h"

namespace eidolon::shim::gpu {
namespace {

constexpr int kWarpThreads = 32;
// Multiprocessors that share a cluster's fast path: a GPC of Hopper and later has at most 18, and
// at least 16 of them work on every GEMM.
constexpr std::uint32_t kGpcMultiprocessors = 16;

int ToInt(std::uint64_t value) { return static_cast<int>(value); }

int ArchitectureOf(const Kernel& kernel) {
  return ToInt(kernel.library->index().header().target.architecture);
}

bool NeedsCluster(const Kernel& kernel) { return kernel.row->cluster[0] != 0; }

int ClusterSide(const Kernel& kernel, int side) {
  if (NeedsCluster(kernel)) return ToInt(kernel.row->cluster[side]);
  return kernel.required_cluster[side].load();
}

Status SetDynamicShared(Kernel& kernel, int value, int device) {
  const std::uint64_t limit = PropertiesOf(device).shared_bytes_per_block_optin;
  const bool fits =
      value >= 0 && kernel.row->static_shared_bytes + static_cast<std::uint64_t>(value) <= limit;
  if (!fits) return Status::kInvalidValue;
  kernel.dynamic_shared_max = static_cast<std::uint32_t>(value);
  return Status::kSuccess;
}

Status SetClusterSide(Kernel& kernel, int side, int value) {
  if (NeedsCluster(kernel)) return Status::kNotPermitted;
  if (value < 0) return Status::kInvalidValue;
  kernel.required_cluster[side] = value;
  return Status::kSuccess;
}

std::uint32_t BlocksOf(const Kernel& kernel, int device, std::uint32_t threads,
                       std::uint64_t dynamic_bytes) {
  if (threads > kernel.block_threads_max || dynamic_bytes > kernel.dynamic_shared_max) return 0;
  return BlocksPerMultiprocessor(PropertiesOf(device),
                                 {.threads = threads,
                                  .registers = kernel.registers,
                                  .shared_bytes = kernel.row->static_shared_bytes + dynamic_bytes,
                                  .barriers = kernel.row->barriers});
}

std::uint32_t CountOf(const workload::Dim3& dims) {
  return static_cast<std::uint32_t>(Volume(dims));
}

}  // namespace

Status GetAttribute(const Kernel& kernel, FunctionAttribute attribute, int* value) noexcept {
  if (value == nullptr) return Status::kInvalidValue;
  switch (attribute) {
    case FunctionAttribute::kMaxThreadsPerBlock:
      *value = ToInt(kernel.block_threads_max);
      return Status::kSuccess;
    case FunctionAttribute::kSharedBytes:
      *value = ToInt(kernel.row->static_shared_bytes);
      return Status::kSuccess;
    case FunctionAttribute::kConstantBytes:
      *value = ToInt(kernel.library->index().header().constant_bytes);
      return Status::kSuccess;
    case FunctionAttribute::kLocalBytes:
      *value = ToInt(kernel.row->local_bytes);
      return Status::kSuccess;
    case FunctionAttribute::kRegisters:
      *value = ToInt(kernel.registers);
      return Status::kSuccess;
    case FunctionAttribute::kPtxVersion:
    case FunctionAttribute::kBinaryVersion:
      *value = ArchitectureOf(kernel);
      return Status::kSuccess;
    case FunctionAttribute::kCacheModeCa:
      *value = 0;
      return Status::kSuccess;
    case FunctionAttribute::kMaxDynamicSharedBytes:
      *value = ToInt(kernel.dynamic_shared_max);
      return Status::kSuccess;
    case FunctionAttribute::kSharedCarveout:
      *value = kernel.carveout;
      return Status::kSuccess;
    case FunctionAttribute::kClusterMustBeSet:
      *value = NeedsCluster(kernel) ? 1 : 0;
      return Status::kSuccess;
    case FunctionAttribute::kRequiredClusterWidth:
    case FunctionAttribute::kRequiredClusterHeight:
    case FunctionAttribute::kRequiredClusterDepth:
      *value = ClusterSide(kernel, static_cast<int>(attribute) -
                                       static_cast<int>(FunctionAttribute::kRequiredClusterWidth));
      return Status::kSuccess;
    case FunctionAttribute::kNonPortableClusterAllowed:
      *value = kernel.non_portable_cluster ? 1 : 0;
      return Status::kSuccess;
    case FunctionAttribute::kClusterSchedulingPolicy:
      *value = kernel.cluster_policy;
      return Status::kSuccess;
  }
  return Status::kInvalidValue;
}

Status SetAttribute(Kernel& kernel, FunctionAttribute attribute, int value, int device) noexcept {
  switch (attribute) {
    case FunctionAttribute::kMaxDynamicSharedBytes:
      return SetDynamicShared(kernel, value, device);
    case FunctionAttribute::kSharedCarveout:
      if (value < -1 || value > 100) return Status::kInvalidValue;
      kernel.carveout = value;
      return Status::kSuccess;
    case FunctionAttribute::kRequiredClusterWidth:
    case FunctionAttribute::kRequiredClusterHeight:
    case FunctionAttribute::kRequiredClusterDepth:
      return SetClusterSide(
          kernel,
          static_cast<int>(attribute) - static_cast<int>(FunctionAttribute::kRequiredClusterWidth),
          value);
    case FunctionAttribute::kNonPortableClusterAllowed:
      kernel.non_portable_cluster = value != 0;
      return Status::kSuccess;
    case FunctionAttribute::kClusterSchedulingPolicy:
      if (value < 0 || value > 2) return Status::kInvalidValue;
      kernel.cluster_policy = value;
      return Status::kSuccess;
    default:
      return Status::kInvalidValue;  // Read only, or unknown.
  }
}

Status GetParameter(const Kernel& kernel, std::size_t index, std::size_t* offset,
                    std::size_t* bytes) noexcept {
  if (index >= kernel.parameters.size()) return Status::kInvalidValue;
  if (offset != nullptr) *offset = kernel.parameters[index].offset;
  if (bytes != nullptr) *bytes = kernel.parameters[index].bytes;
  return Status::kSuccess;
}

Status MaxActiveBlocks(const Kernel& kernel, int device, int threads, std::uint64_t dynamic_bytes,
                       int* blocks) noexcept {
  if (blocks == nullptr || threads <= 0) return Status::kInvalidValue;
  *blocks = ToInt(BlocksOf(kernel, device, static_cast<std::uint32_t>(threads), dynamic_bytes));
  return Status::kSuccess;
}

Status AvailableDynamicShared(const Kernel& kernel, int device, int blocks, int threads,
                              std::size_t* bytes) noexcept {
  if (bytes == nullptr || blocks <= 0 || threads <= 0) return Status::kInvalidValue;
  const ring::DeviceProperties& properties = PropertiesOf(device);
  const std::uint64_t fixed =
      kernel.row->static_shared_bytes + properties.reserved_shared_bytes_per_block;
  if (BlocksOf(kernel, device, static_cast<std::uint32_t>(threads), 0) <
      static_cast<std::uint32_t>(blocks)) {
    return Status::kInvalidValue;
  }
  constexpr std::uint64_t kUnit = 128;
  const std::uint64_t each = properties.shared_bytes_per_multiprocessor /
                             static_cast<std::uint32_t>(blocks) / kUnit * kUnit;
  *bytes = std::min<std::uint64_t>(each < fixed ? 0 : each - fixed, kernel.dynamic_shared_max);
  return Status::kSuccess;
}

Status MaxPotentialBlock(const Kernel& kernel, int device, const PotentialQuery& query,
                         PotentialShape* shape) noexcept {
  const ring::DeviceProperties& properties = PropertiesOf(device);
  int limit = ToInt(kernel.block_threads_max);
  if (query.threads_limit > 0) limit = std::min(limit, query.threads_limit);
  std::uint32_t most = 0;
  *shape = {};
  // From the largest size down, the limit itself first: of equals the largest wins.
  for (int threads = limit; threads > 0; threads = (threads - 1) / kWarpThreads * kWarpThreads) {
    const std::uint64_t dynamic =
        query.dynamic_bytes_for != nullptr ? query.dynamic_bytes_for(threads) : query.dynamic_bytes;
    const std::uint32_t blocks =
        BlocksOf(kernel, device, static_cast<std::uint32_t>(threads), dynamic);
    const std::uint32_t resident = blocks * static_cast<std::uint32_t>(threads);
    if (resident <= most) continue;
    most = resident;
    *shape = {ToInt(blocks * properties.multiprocessors), threads};
    if (most >= properties.max_threads_per_multiprocessor) break;
  }
  return Status::kSuccess;
}

Status MaxActiveClusters(const Kernel& kernel, int device, const LaunchShape& shape,
                         int* clusters) noexcept {
  if (clusters == nullptr) return Status::kInvalidValue;
  workload::Dim3 cluster = shape.cluster;
  if (cluster.x == 0 && NeedsCluster(kernel)) {
    cluster = {kernel.row->cluster[0], kernel.row->cluster[1], kernel.row->cluster[2]};
  }
  const std::uint32_t size = std::max(1u, CountOf(cluster));
  const ring::DeviceProperties& properties = PropertiesOf(device);
  const std::uint32_t blocks =
      BlocksOf(kernel, device, CountOf(shape.block), shape.dynamic_shared_bytes);
  // A cluster stays within a group of multiprocessors.
  const std::uint32_t groups = std::max(1u, properties.multiprocessors / kGpcMultiprocessors);
  const std::uint32_t per_group = properties.multiprocessors / groups * blocks / size;
  *clusters = ToInt(per_group * groups);
  return Status::kSuccess;
}

Status MaxPotentialCluster(const Kernel& kernel, int device, const LaunchShape& shape,
                           int* blocks) noexcept {
  if (blocks == nullptr) return Status::kInvalidValue;
  constexpr std::uint32_t kPortable = 8;
  const std::uint32_t resident =
      BlocksOf(kernel, device, CountOf(shape.block), shape.dynamic_shared_bytes);
  const std::uint32_t limit = kernel.non_portable_cluster ? kGpcMultiprocessors : kPortable;
  *blocks = PropertiesOf(device).compute_major < 9 || resident == 0 ? 0 : ToInt(limit);
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
