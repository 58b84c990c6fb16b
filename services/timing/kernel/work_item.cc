// A definition is bytes from another process. CheckDefinition looks at all of it once; what follows
// may then take lengths and nodes as they are. Writing derives every length from the container that
// it belongs to, so that items which tests or tools build cannot contradict themselves. Grid and
// block get at least one along each side, so that no launch counts as empty.
#include "services/timing/kernel/work_item.h"

#include <algorithm>
#include <utility>

#include "services/contract/workload/definition.h"

namespace eidolon::timing::kernel {

using workload::WorkKind;

namespace {

void RaiseToOne(Dim3& dims) {
  dims = {std::max(dims.x, 1u), std::max(dims.y, 1u), std::max(dims.z, 1u)};
}

KernelLaunch ReadKernel(std::span<const std::byte> definition) {
  workload::KernelTail tail = workload::KernelTailOf(definition);
  KernelLaunch launch{
      workload::WorkOf<workload::Kernel>(definition),
      std::string(tail.name),
      std::move(tail.slots),
      {reinterpret_cast<const char*>(tail.parameters.data()), tail.parameters.size()}};
  RaiseToOne(launch.grid);
  RaiseToOne(launch.block);
  return launch;
}

DnnGraph ReadGraph(std::span<const std::byte> definition) {
  workload::DnnGraphTail tail = workload::DnnGraphTailOf(definition);
  return {workload::WorkOf<workload::DnnGraph>(definition), std::move(tail.tensors),
          std::move(tail.operations), *workload::ReadDnnNodes(tail.nodes)};
}

LibraryCall ReadCall(std::span<const std::byte> definition) {
  workload::LibraryTail tail = workload::LibraryTailOf(definition);
  return {workload::WorkOf<workload::Library>(definition), std::string(tail.name),
          std::move(tail.numbers)};
}

template <typename Parts>
std::span<const std::byte> Bytes(const Parts& parts) {
  return std::as_bytes(std::span(parts));
}

std::vector<std::byte> Write(const KernelLaunch& launch) {
  workload::Kernel work = launch;
  work.name_bytes = static_cast<std::uint32_t>(launch.name.size());
  work.parameter_count = static_cast<std::uint32_t>(launch.slots.size());
  work.parameter_bytes = static_cast<std::uint32_t>(launch.parameters.size());
  return workload::Definition(work,
                              {Bytes(launch.name), Bytes(launch.slots), Bytes(launch.parameters)});
}

std::vector<std::byte> Write(const DnnGraph& graph) {
  const std::string nodes = workload::DnnNodeBytes(graph.nodes);
  workload::DnnGraph work = graph;
  work.tensor_count = static_cast<std::uint32_t>(graph.tensors.size());
  work.operation_count = static_cast<std::uint32_t>(graph.operations.size());
  work.node_bytes = static_cast<std::uint32_t>(nodes.size());
  return workload::Definition(work, {Bytes(graph.tensors), Bytes(graph.operations), Bytes(nodes)});
}

std::vector<std::byte> Write(const LibraryCall& call) {
  workload::Library work = call;
  work.name_bytes = static_cast<std::uint32_t>(call.name.size());
  work.number_count = static_cast<std::uint32_t>(call.numbers.size());
  return workload::Definition(work, {Bytes(call.name), Bytes(call.numbers)});
}

std::vector<std::byte> Write(const Gemm& gemm) { return workload::Definition(gemm); }
std::vector<std::byte> Write(const Copy& copy) { return workload::Definition(copy); }

}  // namespace

base::Result<WorkItem> ReadWork(std::span<const std::byte> definition) {
  if (auto sound = workload::CheckDefinition(definition); !sound) {
    return std::unexpected(sound.error());
  }
  switch (workload::KindOf(definition)) {
    case WorkKind::kKernel:
      return ReadKernel(definition);
    case WorkKind::kGemm:
      return workload::WorkOf<Gemm>(definition);
    case WorkKind::kDnnGraph:
      return ReadGraph(definition);
    case WorkKind::kCopy:
    case WorkKind::kMemset:
      return workload::WorkOf<Copy>(definition);
    case WorkKind::kLibrary:
      break;
  }
  return ReadCall(definition);
}

std::vector<std::byte> DefinitionOf(const WorkItem& item) {
  return std::visit([](const auto& work) { return Write(work); }, item);
}

}  // namespace eidolon::timing::kernel
