#include "services/agent/ring/definition.h"

#include "services/agent/ring/dnn_nodes.h"
#include "services/base/text.h"
#include "services/contract/workload/copy_kind.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using wire::WorkKind;

namespace {

std::string_view NameOfWork(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernel:
      return "kernel";
    case WorkKind::kGemm:
      return "gemm";
    case WorkKind::kDnnGraph:
      return "cuDNN graph";
    case WorkKind::kCopy:
      return "copy";
    case WorkKind::kMemset:
      return "memset";
    case WorkKind::kLibrary:
      return "library call";
  }
  return {};
}

std::size_t FixedBytes(WorkKind kind) {
  switch (kind) {
    case WorkKind::kKernel:
      return sizeof(wire::KernelWork);
    case WorkKind::kGemm:
      return sizeof(wire::GemmWork);
    case WorkKind::kDnnGraph:
      return sizeof(wire::DnnGraphWork);
    case WorkKind::kCopy:
    case WorkKind::kMemset:
      return sizeof(wire::CopyWork);
    case WorkKind::kLibrary:
      return sizeof(wire::LibraryWork);
  }
  return 0;
}

std::uint64_t TailBytes(std::span<const std::byte> definition) {
  switch (KindOf(definition)) {
    case WorkKind::kKernel: {
      const auto& kernel = WorkOf<wire::KernelWork>(definition);
      return std::uint64_t{kernel.name_bytes} + kernel.parameter_bytes +
             std::uint64_t{kernel.parameter_count} * sizeof(wire::ParameterSlot);
    }
    case WorkKind::kDnnGraph: {
      const auto& graph = WorkOf<wire::DnnGraphWork>(definition);
      return std::uint64_t{graph.tensor_count} * sizeof(wire::DnnTensor) +
             std::uint64_t{graph.operation_count} * sizeof(wire::DnnOperation) + graph.node_bytes;
    }
    case WorkKind::kLibrary: {
      const auto& call = WorkOf<wire::LibraryWork>(definition);
      return std::uint64_t{call.name_bytes} +
             std::uint64_t{call.number_count} * sizeof(std::int64_t);
    }
    default:
      return 0;
  }
}

std::unexpected<base::Error> Damaged(WorkKind kind, const std::string& what) {
  return Fail(ErrorCode::kCorrupt, StrCat("definition of a ", NameOfWork(kind), ": ", what));
}

Result<void> CheckDnnGraph(const wire::DnnGraphWork& graph) {
  const DnnGraphTail tail = TailOf(graph);
  for (std::size_t i = 0; i < tail.tensors.size(); ++i) {
    if (tail.tensors[i].rank > wire::kMaxDnnDims) {
      return Damaged(WorkKind::kDnnGraph,
                     StrCat("tensor ", i, " has ", tail.tensors[i].rank, " dimensions"));
    }
  }
  for (std::size_t i = 0; i < tail.operations.size(); ++i) {
    const wire::DnnOperation& operation = tail.operations[i];
    if (operation.input_count > std::size(operation.inputs) ||
        operation.output_count > std::size(operation.outputs) ||
        operation.convolution_rank > std::size(operation.pads)) {
      return Damaged(WorkKind::kDnnGraph,
                     StrCat("operation ", i, " has ", operation.input_count, " inputs, ",
                            operation.output_count, " outputs and convolution rank ",
                            operation.convolution_rank));
    }
  }
  if (const auto nodes = ReadDnnNodes(tail.nodes); !nodes) {
    return Damaged(WorkKind::kDnnGraph, nodes.error().message);
  }
  return {};
}

Result<void> CheckFields(std::span<const std::byte> definition) {
  switch (KindOf(definition)) {
    case WorkKind::kDnnGraph:
      return CheckDnnGraph(WorkOf<wire::DnnGraphWork>(definition));
    case WorkKind::kCopy:
    case WorkKind::kMemset: {
      const auto kind = WorkOf<wire::CopyWork>(definition).kind;
      if (kind > workload::CopyKind::kMemset) {
        return Damaged(WorkKind::kCopy,
                       StrCat("copy kind ", static_cast<std::uint32_t>(kind), " is unknown"));
      }
      return {};
    }
    default:
      return {};
  }
}

}  // namespace

WorkKind KindOf(std::span<const std::byte> definition) {
  return WorkOf<wire::WorkHeader>(definition).kind;
}

Result<void> CheckDefinition(std::span<const std::byte> definition) {
  if (definition.size() < sizeof(wire::WorkHeader)) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("a work definition of ", definition.size(), " bytes is too short"));
  }
  const auto& header = WorkOf<wire::WorkHeader>(definition);
  const std::size_t fixed = FixedBytes(header.kind);
  if (fixed == 0) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("work kind ", static_cast<std::uint32_t>(header.kind), " is unknown"));
  }
  if (header.bytes != definition.size()) {
    return Damaged(header.kind,
                   StrCat("it says ", header.bytes, " bytes, the record has ", definition.size()));
  }
  if (definition.size() < fixed) {
    return Damaged(header.kind,
                   StrCat("it has ", definition.size(), " bytes, at least ", fixed, " are needed"));
  }
  const std::uint64_t needed = fixed + TailBytes(definition);
  if (needed > definition.size()) {
    return Damaged(header.kind,
                   StrCat("its parts need ", needed, " bytes, it has ", definition.size()));
  }
  return CheckFields(definition);
}

KernelTail TailOf(const wire::KernelWork& kernel) {
  const auto* name = reinterpret_cast<const char*>(&kernel + 1);
  const auto* slots = reinterpret_cast<const std::byte*>(name + kernel.name_bytes);
  const std::size_t slot_bytes = kernel.parameter_count * sizeof(wire::ParameterSlot);
  return {.name = {name, kernel.name_bytes},
          .slots = {slots, slot_bytes},
          .parameters = {slots + slot_bytes, kernel.parameter_bytes}};
}

DnnGraphTail TailOf(const wire::DnnGraphWork& graph) {
  const auto* tensors = reinterpret_cast<const wire::DnnTensor*>(&graph + 1);
  const auto* operations =
      reinterpret_cast<const wire::DnnOperation*>(tensors + graph.tensor_count);
  return {.tensors = {tensors, graph.tensor_count},
          .operations = {operations, graph.operation_count},
          .nodes = {reinterpret_cast<const std::byte*>(operations + graph.operation_count),
                    graph.node_bytes}};
}

LibraryTail TailOf(const wire::LibraryWork& call) {
  const auto* name = reinterpret_cast<const char*>(&call + 1);
  const auto* numbers = reinterpret_cast<const std::byte*>(name + call.name_bytes);
  return {.name = {name, call.name_bytes},
          .numbers = {numbers, call.number_count * sizeof(std::int64_t)}};
}

std::string DisplayName(std::span<const std::byte> definition) {
  static constexpr std::string_view kCopies[] = {"memcpy HtoD", "memcpy DtoH", "memcpy DtoD",
                                                 "memcpy PtoP", "memcpy HtoH", "memset"};
  switch (KindOf(definition)) {
    case WorkKind::kKernel:
      return std::string(TailOf(WorkOf<wire::KernelWork>(definition)).name);
    case WorkKind::kGemm: {
      const auto& gemm = WorkOf<wire::GemmWork>(definition);
      std::string name = base::StrCat("gemm ", gemm.m, "x", gemm.n, "x", gemm.k);
      if (gemm.batch > 1) name += base::StrCat(" x", gemm.batch);
      return name;
    }
    case WorkKind::kDnnGraph:
      return "cudnn graph";
    case WorkKind::kCopy:
    case WorkKind::kMemset:
      return std::string(
          kCopies[static_cast<std::size_t>(WorkOf<wire::CopyWork>(definition).kind)]);
    case WorkKind::kLibrary:
      return std::string(TailOf(WorkOf<wire::LibraryWork>(definition)).name);
  }
  return "unknown";
}

}  // namespace eidolon::agent::ring
