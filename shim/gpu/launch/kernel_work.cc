// The way of most launches is one hash and one look-up: the definition, its checks and its entry in
// the ring are made when the hash is new. The hash covers kernel, device, shape and the parameters
// with pointers blanked, and two launches with one hash are taken for the same work: whatever else
// a definition comes to depend on has to enter it. Parameters in the definition are kept for good,
// so a recorded launch may refer to them instead of copying. A grouped GEMM's sizes are not among
// its kernel's parameters, so they are appended to the block before it is hashed.
#include "shim/gpu/launch/kernel_work.h"

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "services/base/hash.h"
#include "services/contract/workload/definition.h"
#include "services/contract/workload/grouped_gemm.h"
#include "shim/core/intern_work.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/launch/idle_parameters.h"
#include "shim/gpu/launch/launch_cache.h"
#include "shim/gpu/launch/launch_check.h"
#include "shim/gpu/launch/replay_context.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/torch/grouped_gemm.h"
#include "shim/gpu/torch/optimizer_kernel.h"

namespace eidolon::shim::gpu {
namespace {

std::uint64_t HashOf(const Kernel& kernel, const LaunchShape& shape, int device,
                     const ParameterBlock& block) {
  const workload::Dim3 cluster = ClusterOf(kernel, shape);
  const std::array<std::uint64_t, 5> head = {
      shape.grid.x | std::uint64_t{shape.grid.y} << 32,
      shape.grid.z | std::uint64_t{shape.block.x} << 32,
      shape.block.y | std::uint64_t{shape.block.z} << 32,
      shape.dynamic_shared_bytes | std::uint64_t{shape.cooperative} << 40 |
          static_cast<std::uint64_t>(device) << 48,
      cluster.x | std::uint64_t{cluster.y} << 16 | std::uint64_t{cluster.z} << 32};
  const std::uint64_t seed = base::Hash64(head.data(), sizeof(head), kernel.seed);
  return base::Hash64(block.bytes, block.size, seed);
}

// Builds and interns the definition (workload/kernel.h).
KnownLaunch Define(core::Session& session, const Kernel& kernel, const LaunchShape& shape,
                   std::uint32_t blocks, const ParameterBlock& block, const FoundInBlock& found) {
  const base::Digest content = kernel.library->index().header().content;
  const bool grouped = block.gemm != 0;
  const auto parameter_bytes =
      grouped ? static_cast<std::uint32_t>(block.size) : kernel.row->parameter_bytes;
  workload::Kernel work;
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

  static_assert(sizeof(cubin::Parameter) == sizeof(workload::ParameterSlot));
  const workload::ParameterSlot added = {static_cast<std::uint32_t>(block.gemm),
                                         sizeof(workload::GroupedGemm)};
  const std::vector<std::byte> definition = workload::Definition(
      work, {std::as_bytes(std::span(kernel.name)), std::as_bytes(std::span(kernel.parameters)),
             std::as_bytes(std::span(&added, grouped ? 1 : 0)),
             std::as_bytes(std::span(block.bytes, parameter_bytes))});
  std::vector<std::byte> context;
  if (WantsReplays(session)) {
    SaveModule(*kernel.library);
    const std::size_t read = grouped ? block.gemm : block.size;
    context = MakeReplayContext({block.bytes, read}, kernel.row->parameter_bytes,
                                found.pointers.list(), found.numbers.list());
  } else if (WantsCode(session, kernel.name)) {
    SaveModule(*kernel.library);
  }
  const core::InternedWork kept = core::InternWork(definition, context);
  if (kept.id == 0) return {};
  return {kept.id, kept.definition + (definition.size() - parameter_bytes)};
}

}  // namespace

void AddGroupedSizes(const Kernel& kernel, const LaunchShape& shape, ParameterBlock& block) {
  const GroupedRole role = GroupedRoleOf(kernel);
  if (role == GroupedRole::kPrepares) {
    const auto prepared = ReadPreparedGemm(kernel.parameters, {block.bytes, block.size},
                                           static_cast<std::uint32_t>(Volume(shape.block)));
    if (prepared) KeepPreparedGemm(*prepared);
  } else if (role == GroupedRole::kMultiplies) {
    const auto gemm = FindPreparedGemm({block.bytes, block.size});
    if (!gemm) return;
    block.gemm = block.size;
    std::memcpy(block.bytes + block.size, &*gemm, sizeof(*gemm));
    block.size += sizeof(*gemm);
  }
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
  const Status status = CheckResidency(kernel, shape, properties, blocks);
  if (status != Status::kSuccess) return {status, 0};
  const KnownLaunch made = Define(session, kernel, shape, blocks, block, found);
  if (made.work == 0) return {Status::kOutOfMemory, 0};
  KeepLaunch(hash, made);
  return {Status::kSuccess, made.work, made.parameters};
}

KernelWorkResult InternKernel(const Kernel& kernel, const LaunchShape& shape,
                              const LaunchParameters& parameters, int device,
                              std::vector<std::uint64_t>* pointers) noexcept {
  try {
    core::Session* session = core::Session::Get();
    if (session == nullptr) return {Status::kNoDevice, 0};
    if (const Status status = CheckShape(kernel, shape); status != Status::kSuccess) {
      return {status, 0};
    }
    ParameterBlock block;
    if (!Gather(kernel, parameters, block)) return {Status::kInvalidValue, 0};
    AddGroupedSizes(kernel, shape, block);
    TellOptimizerTensors(*session, kernel, shape.grid.x, {block.bytes, block.size}, device);
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

}  // namespace eidolon::shim::gpu
