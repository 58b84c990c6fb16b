#include "shim/gpu/launch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "services/base/hash.h"
#include "services/ring/record.h"
#include "shim/compute/launch.h"
#include "shim/core/intern_work.h"
#include "shim/core/session.h"
#include "shim/gpu/arena.h"
#include "shim/gpu/capture.h"
#include "shim/gpu/capture_hooks.h"
#include "shim/gpu/device.h"
#include "shim/gpu/found_words.h"
#include "shim/gpu/grouped_product.h"
#include "shim/gpu/idle_parameters.h"
#include "shim/gpu/launch_cache.h"
#include "shim/gpu/launch_values.h"
#include "shim/gpu/occupancy.h"
#include "shim/gpu/replay_context.h"
#include "shim/gpu/stream.h"

namespace eidolon::shim::gpu {
namespace {

// Parameter blocks of today's architectures end below 32 KiB.
constexpr std::size_t kLargestParameters = 32 << 10;

constexpr std::uint32_t kGridMax = 0x7fffffff;  // x.
constexpr std::uint32_t kGridSideMax = 65535;   // y and z.
constexpr std::uint32_t kBlockMax = 1024;       // x, y and the product.
constexpr std::uint32_t kBlockDepthMax = 64;    // z.
constexpr std::uint32_t kPortableCluster = 8;
constexpr std::uint32_t kLargestCluster = 16;

std::uint64_t Volume(const ring::Dim3& dims) { return std::uint64_t{dims.x} * dims.y * dims.z; }

bool Equals(const ring::Dim3& dims, const std::uint32_t (&other)[3]) {
  return dims.x == other[0] && dims.y == other[1] && dims.z == other[2];
}

// The block of bytes that the device would read, with pointers blanked. Only `size` bytes are set.
struct ParameterBlock {
  alignas(8) std::byte bytes[kLargestParameters + sizeof(ring::GroupedProduct)];
  std::size_t size = 0;  // A multiple of 8.
  // Where a grouped product's sizes stand, the last bytes; 0 without.
  std::size_t product = 0;
};

void CopyParameter(std::byte* to, const void* from, std::uint32_t bytes) {
  if (bytes == 8) {  // Most parameters are pointers or counts.
    std::memcpy(to, from, 8);
  } else if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else {
    std::memcpy(to, from, bytes);
  }
}

bool Gather(const Kernel& kernel, const LaunchParameters& from, ParameterBlock& block) {
  const std::uint32_t size = kernel.row->parameter_bytes;
  block.size = (size + 7u) & ~std::size_t{7};
  if (size == 0) return true;
  if (block.size > kLargestParameters) return false;
  if (from.packed != nullptr) {
    if (from.packed_bytes < size) return false;
    std::memset(block.bytes + block.size - 8, 0, 8);
    std::memcpy(block.bytes, from.packed, size);
    return true;
  }
  if (from.pointers == nullptr) return false;
  std::memset(block.bytes, 0, block.size);  // Also what lies between parameters.
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const cubin::Parameter& parameter = kernel.parameters[i];
    if (from.pointers[i] == nullptr) return false;
    CopyParameter(block.bytes + parameter.offset, from.pointers[i], parameter.bytes);
  }
  return true;
}

// Notes or adds the sizes of grouped products. Requires: pointers are not blanked yet.
void TellGroupedProduct(const Kernel& kernel, const LaunchShape& shape, ParameterBlock& block) {
  const GroupedRole role = GroupedRoleOf(kernel);
  if (role == GroupedRole::kPrepares) {
    const auto prepared = ReadPreparedProduct(kernel.parameters, {block.bytes, block.size},
                                              static_cast<std::uint32_t>(Volume(shape.block)));
    if (prepared) KeepPreparedProduct(*prepared);
  } else if (role == GroupedRole::kMultiplies) {
    const auto product = FindPreparedProduct({block.bytes, block.size});
    if (!product) return;
    block.product = block.size;
    std::memcpy(block.bytes + block.size, &*product, sizeof(*product));
    block.size += sizeof(*product);
  }
}

// What was taken out of a block.
struct FoundInBlock {
  FoundWords<compute::PointerWord> pointers;
  FoundWords<compute::NumberWord> numbers;
};

// Blanks every word that points into emulated device memory, telling `note` its place and address.
template <typename Note>
void BlankPointers(ParameterBlock& block, Note&& note) {
  for (std::uint32_t at = 0; at < block.size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, block.bytes + at, 8);
    if (!HoldsDeviceAddress(word)) continue;
    note(at, word);
    word = ring::kPointerTag | (word & 0xff);
    std::memcpy(block.bytes + at, &word, 8);
  }
}

ring::Dim3 ClusterOf(const Kernel& kernel, const LaunchShape& shape) {
  if (shape.cluster.x != 0) return shape.cluster;
  const auto& compiled = kernel.row->cluster;
  if (compiled[0] != 0) return {compiled[0], compiled[1], compiled[2]};
  const auto required = static_cast<std::uint32_t>(kernel.required_cluster[0].load());
  if (required == 0) return {};
  return {required, static_cast<std::uint32_t>(kernel.required_cluster[1].load()),
          static_cast<std::uint32_t>(kernel.required_cluster[2].load())};
}

Status CheckCluster(const Kernel& kernel, const LaunchShape& shape, const ring::Dim3& cluster) {
  const std::uint64_t blocks = Volume(cluster);
  const std::uint32_t limit = kernel.non_portable_cluster ? kLargestCluster : kPortableCluster;
  if (blocks == 0 || blocks > limit) return Status::kInvalidClusterSize;
  const bool divides = shape.grid.x % cluster.x == 0 && shape.grid.y % cluster.y == 0 &&
                       shape.grid.z % cluster.z == 0;
  return divides ? Status::kSuccess : Status::kInvalidClusterSize;
}

Status Check(const Kernel& kernel, const LaunchShape& shape) {
  if (!IsPossibleShape(shape)) return Status::kInvalidValue;
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
                        const ring::DeviceProperties& device) {
  return BlocksPerMultiprocessor(
      device, {.threads = static_cast<std::uint32_t>(Volume(shape.block)),
               .registers = kernel.registers,
               .shared_bytes = kernel.row->static_shared_bytes + shape.dynamic_shared_bytes,
               .barriers = kernel.row->barriers});
}

// The checks that need the whole multiprocessor; their outcome is cached with the work.
Status CheckSlowly(const Kernel& kernel, const LaunchShape& shape,
                   const ring::DeviceProperties& device, std::uint32_t blocks) {
  const ring::Dim3 cluster = ClusterOf(kernel, shape);
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

std::uint64_t HashOf(const Kernel& kernel, const LaunchShape& shape, int device,
                     const ParameterBlock& block) {
  const std::array<std::uint64_t, 5> head = {
      shape.grid.x | std::uint64_t{shape.grid.y} << 32,
      shape.grid.z | std::uint64_t{shape.block.x} << 32,
      shape.block.y | std::uint64_t{shape.block.z} << 32,
      shape.dynamic_shared_bytes | std::uint64_t{shape.cooperative} << 40 |
          static_cast<std::uint64_t>(device) << 48,
      shape.cluster.x | std::uint64_t{shape.cluster.y} << 16 |
          std::uint64_t{shape.cluster.z} << 32};
  const std::uint64_t seed = base::Hash64(head.data(), sizeof(head), kernel.seed);
  return base::Hash64(block.bytes, block.size, seed);
}

// Builds and interns the definition (ring/work.h): header, name, slots, bytes.
KnownLaunch Define(core::Session& session, const Kernel& kernel, const LaunchShape& shape,
                   std::uint32_t blocks, const ParameterBlock& block, const FoundInBlock& found) {
  const base::Digest content = kernel.library->index().header().content;
  const bool grouped = block.product != 0;
  const std::size_t slot_bytes = kernel.parameters.size() * sizeof(ring::ParameterSlot);
  const std::size_t added_bytes = grouped ? sizeof(ring::ParameterSlot) : 0;
  const auto parameter_bytes =
      grouped ? static_cast<std::uint32_t>(block.size) : kernel.row->parameter_bytes;
  const std::size_t bytes =
      sizeof(ring::KernelWork) + kernel.name.size() + slot_bytes + added_bytes + parameter_bytes;
  ring::KernelWork work;
  std::memset(&work, 0, sizeof(work));
  work.header = {ring::WorkKind::kKernel, static_cast<std::uint32_t>(bytes)};
  work.module_hash[0] = content.high;
  work.module_hash[1] = content.low;
  work.grid = shape.grid;
  work.block = shape.block;
  work.cluster = ClusterOf(kernel, shape);
  work.dynamic_shared_bytes = static_cast<std::uint32_t>(shape.dynamic_shared_bytes);
  work.static_shared_bytes = kernel.row->static_shared_bytes;
  work.registers = kernel.registers;
  work.blocks_per_multiprocessor = blocks;
  work.cooperative = shape.cooperative ? 1 : 0;
  work.name_bytes = static_cast<std::uint32_t>(kernel.name.size());
  work.parameter_count = static_cast<std::uint32_t>(kernel.parameters.size() + (grouped ? 1 : 0));
  work.parameter_bytes = parameter_bytes;

  static_assert(sizeof(cubin::Parameter) == sizeof(ring::ParameterSlot));
  std::vector<std::byte> definition(bytes);
  std::byte* to = definition.data();
  const auto put = [&to](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(to, from, size);
    to += size;
  };
  put(&work, sizeof(work));
  put(kernel.name.data(), kernel.name.size());
  put(kernel.parameters.data(), slot_bytes);
  const ring::ParameterSlot added = {static_cast<std::uint32_t>(block.product),
                                     sizeof(ring::GroupedProduct)};
  put(&added, added_bytes);
  put(block.bytes, parameter_bytes);
  std::vector<std::byte> context;
  if (WantsReplays(session)) {
    SaveModule(*kernel.library);
    const std::size_t read = grouped ? block.product : block.size;
    context = MakeReplayContext({block.bytes, read}, kernel.row->parameter_bytes,
                                found.pointers.list(), found.numbers.list());
  }
  const core::InternedWork kept = core::InternWork(definition, context);
  if (kept.id == 0) return {};
  return {kept.id, kept.definition + (bytes - parameter_bytes)};
}

KernelWorkResult FindOrDefine(core::Session& session, const Kernel& kernel,
                              const LaunchShape& shape, const ParameterBlock& block, int device,
                              const FoundInBlock& found) {
  const std::uint64_t hash = HashOf(kernel, shape, device, block);
  if (const KnownLaunch known = FindLaunch(hash); known.work != 0) {
    return {Status::kSuccess, known.work, known.parameters};
  }
  const ring::DeviceProperties& properties = PropertiesOf(device);
  const std::uint32_t blocks = BlocksFor(kernel, shape, properties);
  const Status status = CheckSlowly(kernel, shape, properties, blocks);
  if (status != Status::kSuccess) return {status, 0};
  const KnownLaunch made = Define(session, kernel, shape, blocks, block, found);
  if (made.work == 0) return {Status::kOutOfMemory, 0};
  KeepLaunch(hash, made);
  return {Status::kSuccess, made.work, made.parameters};
}

}  // namespace

bool IsPossibleShape(const LaunchShape& shape) noexcept {
  const ring::Dim3& grid = shape.grid;
  const ring::Dim3& block = shape.block;
  // Unsigned wrap-around makes zero fail too.
  return grid.x - 1 < kGridMax && grid.y - 1 < kGridSideMax && grid.z - 1 < kGridSideMax &&
         block.x - 1 < kBlockMax && block.y - 1 < kBlockMax && block.z - 1 < kBlockDepthMax &&
         Volume(block) <= kBlockMax;
}

KernelWorkResult InternKernel(const Kernel& kernel, const LaunchShape& shape,
                              const LaunchParameters& parameters, int device,
                              std::vector<std::uint64_t>* pointers) noexcept {
  try {
    core::Session* session = core::Session::Get();
    if (session == nullptr) return {Status::kNoDevice, 0};
    if (const Status status = Check(kernel, shape); status != Status::kSuccess) {
      return {status, 0};
    }
    ParameterBlock block;
    if (!Gather(kernel, parameters, block)) return {Status::kInvalidValue, 0};
    TellGroupedProduct(kernel, shape, block);
    IdleParametersOf(kernel).Clear(block.bytes, shape.grid);
    FoundInBlock words;  // Numbers stay: what is captured is replayed with the same ones.
    BlankPointers(block, [&](std::uint32_t at, std::uint64_t address) {
      pointers->push_back(address);
      words.pointers.Add({at, address});
    });
    return FindOrDefine(*session, kernel, shape, block, device, words);
  } catch (...) {
    return {Status::kOutOfMemory, 0};
  }
}

Status LaunchKernel(const Kernel& kernel, const LaunchShape& shape,
                    const LaunchParameters& parameters, StreamHandle handle) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->capture.load(std::memory_order_acquire) != nullptr) {
    return CaptureKernel(*stream, kernel, shape, parameters);
  }
  if (const Status status = CheckLegacyStreamUse(*stream); status != Status::kSuccess)
    return status;
  if (const Status status = Check(kernel, shape); status != Status::kSuccess) return status;
  core::Session* session = core::Session::Get();
  if (session == nullptr) return Status::kNoDevice;
  try {
    ParameterBlock block;
    if (!Gather(kernel, parameters, block)) return Status::kInvalidValue;
    TellGroupedProduct(kernel, shape, block);
    const bool recorded = MustRecord();
    const IdleParameters& idle = IdleParametersOf(kernel);
    idle.Clear(block.bytes, shape.grid);
    const bool kept = recorded || WantsReplays(*session);
    FoundInBlock words;
    LaunchNote note(kernel);
    BlankPointers(block, [&](std::uint32_t at, std::uint64_t address) {
      if (!recorded) note.Add(address);
      if (kept) words.pointers.Add({at, address});
    });
    idle.TakeNumbers(block.bytes, words.numbers);
    const KernelWorkResult found =
        FindOrDefine(*session, kernel, shape, block, stream->device, words);
    if (found.status != Status::kSuccess) return found.status;
    if (recorded) {
      RecordLaunch(kernel, shape, found.work,
                   {.block = {found.parameters, kernel.row->parameter_bytes},
                    .pointers = words.pointers.list(),
                    .numbers = words.numbers.list(),
                    .block_stays = true});
    }
    ring::LaunchRecord record{};
    record.header.kind = ring::RecordKind::kLaunch;
    record.header.device = RingDevice(stream->device);
    record.stream = stream->id;
    record.work = found.work;
    stream->issued.fetch_add(1, std::memory_order_relaxed);
    core::Append(*session, record);
    return session->agent_alive() ? Status::kSuccess : Status::kUnknown;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

}  // namespace eidolon::shim::gpu
