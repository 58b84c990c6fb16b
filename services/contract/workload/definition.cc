// A definition travels from the shim to the agent to the timing service, and each of them reads it
// only after this check. Every field has an upper limit in its row (ForEachField), which keeps
// sizes of tails in range. Older layouts are shorter: WorkOf copies what is there, and missing
// fields keep their defaults. Tails are taken from the front in the order in which they were
// written, without alignment.
#include "services/contract/workload/definition.h"

#include <cstring>
#include <type_traits>

#include "services/base/text.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/dnn_nodes.h"

namespace eidolon::workload {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

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

// Names the type of an element by its number in cudaDataType_t.
std::string_view NameOfType(DataType type) {
  switch (type) {
    case 0:
      return "fp32";
    case 1:
      return "fp64";
    case 2:
      return "fp16";
    case 3:
      return "int8";
    case 4:
    case 5:
      return "complex";
    case 14:
      return "bf16";
    case 28:
      return "e4m3";
    case 29:
      return "e5m2";
    case 33:
      return "e2m1";
    default:
      return "other";
  }
}

// "gemm bf16 TN 8192x4096x2048 x8": types of A and B where they differ, both operands'
// transposition as in BLAS, m x n x k, and how many of a batch.
std::string NameOfGemm(const Gemm& gemm) {
  constexpr std::uint32_t kFastTf32 = 77;  // Of cublasComputeType_t.
  const std::string_view a = NameOfType(gemm.type_a);
  const std::string_view b = NameOfType(gemm.type_b);
  std::string name = StrCat("gemm ", gemm.compute_type == kFastTf32 ? "tf32" : a);
  if (a != b) name += StrCat("*", b);
  name += StrCat(" ", gemm.transpose_a == 0 ? "N" : "T", gemm.transpose_b == 0 ? "N" : "T", " ",
                 gemm.m, "x", gemm.n, "x", gemm.k);
  if (gemm.batch > 1) name += StrCat(" x", gemm.batch);
  return name;
}

std::unexpected<base::Error> Damaged(WorkKind kind, const std::string& what) {
  return Fail(ErrorCode::kCorrupt, StrCat("definition of a ", NameOfWork(kind), ": ", what));
}

// The first field whose value is above its row's `most`, in words; empty when there is none.
template <typename Struct>
std::string Excess(const Struct& work) {
  std::string excess;
  ForEachField<Struct>([&](const auto& field) {
    using T = std::remove_cvref_t<decltype(work.*field.member)>;
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const auto value = static_cast<std::uint64_t>(work.*field.member);
      if (value <= field.most || !excess.empty()) return;
      excess = StrCat(field.name, " is ", value, ", at most ", field.most, " is allowed");
    }
  });
  return excess;
}

// Takes arrays of a tail off the front of what follows a definition's struct.
class Tail {
 public:
  template <typename Work>
  Tail(std::span<const std::byte> definition, const Work&)
      : rest_(definition.subspan(sizeof(Work))) {}
  std::span<const std::byte> Bytes(std::size_t size) {
    const auto part = rest_.first(size);
    rest_ = rest_.subspan(size);
    return part;
  }
  std::string_view Text(std::size_t size) {
    return {reinterpret_cast<const char*>(Bytes(size).data()), size};
  }
  template <typename T>
  std::vector<T> Array(std::size_t count) {
    std::vector<T> array(count);
    const auto bytes = Bytes(count * sizeof(T));
    if (count != 0) std::memcpy(array.data(), bytes.data(), bytes.size());
    return array;
  }

 private:
  std::span<const std::byte> rest_;
};

std::uint64_t TailBytes(const Kernel& kernel) {
  return std::uint64_t{kernel.name_bytes} + kernel.parameter_bytes +
         std::uint64_t{kernel.parameter_count} * sizeof(ParameterSlot);
}
std::uint64_t TailBytes(const DnnGraph& graph) {
  return std::uint64_t{graph.tensor_count} * sizeof(DnnTensor) +
         std::uint64_t{graph.operation_count} * sizeof(DnnOperation) + graph.node_bytes;
}
std::uint64_t TailBytes(const Library& call) {
  return std::uint64_t{call.name_bytes} + std::uint64_t{call.number_count} * sizeof(std::int64_t);
}
std::uint64_t TailBytes(const Gemm&) { return 0; }
std::uint64_t TailBytes(const Copy&) { return 0; }

template <typename Work>
Result<void> Check(WorkKind kind, std::span<const std::byte> definition) {
  if (definition.size() < kLeastBytes<Work>) {
    return Damaged(kind, StrCat("it has ", definition.size(), " bytes, at least ",
                                kLeastBytes<Work>, " are needed"));
  }
  const auto work = WorkOf<Work>(definition);
  if (const std::string excess = Excess(work); !excess.empty()) return Damaged(kind, excess);
  const std::uint64_t needed = kLeastBytes<Work> + TailBytes(work);
  if (needed > definition.size()) {
    return Damaged(kind, StrCat("its parts need ", needed, " bytes, it has ", definition.size()));
  }
  return {};
}

template <typename Part>
std::string ExcessOfParts(std::string_view name, const std::vector<Part>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string excess = Excess(parts[i]);
    if (!excess.empty()) return StrCat(name, " ", i, ": ", excess);
  }
  return {};
}

Result<void> CheckDnnGraph(std::span<const std::byte> definition) {
  if (auto whole = Check<DnnGraph>(WorkKind::kDnnGraph, definition); !whole) return whole;
  const DnnGraphTail tail = DnnGraphTailOf(definition);
  std::string excess = ExcessOfParts("tensor", tail.tensors);
  if (excess.empty()) excess = ExcessOfParts("operation", tail.operations);
  if (!excess.empty()) return Damaged(WorkKind::kDnnGraph, excess);
  if (const auto nodes = ReadDnnNodes(tail.nodes); !nodes) {
    return Damaged(WorkKind::kDnnGraph, nodes.error().message);
  }
  return {};
}

}  // namespace

Result<void> CheckVersion(std::uint32_t version) {
  if (version >= 1 && version <= kLayoutVersion) return {};
  return Fail(ErrorCode::kFailedPrecondition,
              StrCat("work definitions have layout version ", version,
                     ", and this build reads versions up to ", kLayoutVersion));
}

WorkKind KindOf(std::span<const std::byte> definition) {
  return WorkOf<WorkHeader>(definition).kind;
}

Result<void> CheckDefinition(std::span<const std::byte> definition) {
  if (definition.size() < sizeof(WorkHeader)) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("a work definition of ", definition.size(), " bytes is too short"));
  }
  const auto header = WorkOf<WorkHeader>(definition);
  if (NameOfWork(header.kind).empty()) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("work kind ", static_cast<std::uint32_t>(header.kind), " is unknown"));
  }
  if (header.bytes != definition.size()) {
    return Damaged(header.kind,
                   StrCat("it says ", header.bytes, " bytes, the record has ", definition.size()));
  }
  switch (header.kind) {
    case WorkKind::kKernel:
      return Check<Kernel>(header.kind, definition);
    case WorkKind::kGemm:
      return Check<Gemm>(header.kind, definition);
    case WorkKind::kDnnGraph:
      return CheckDnnGraph(definition);
    case WorkKind::kCopy:
    case WorkKind::kMemset:
      return Check<Copy>(header.kind, definition);
    case WorkKind::kLibrary:
      return Check<Library>(header.kind, definition);
  }
  return {};
}

KernelTail KernelTailOf(std::span<const std::byte> definition) {
  const auto kernel = WorkOf<Kernel>(definition);
  Tail tail(definition, kernel);
  KernelTail parts;
  parts.name = tail.Text(kernel.name_bytes);
  parts.slots = tail.Array<ParameterSlot>(kernel.parameter_count);
  parts.parameters = tail.Bytes(kernel.parameter_bytes);
  return parts;
}

DnnGraphTail DnnGraphTailOf(std::span<const std::byte> definition) {
  const auto graph = WorkOf<DnnGraph>(definition);
  Tail tail(definition, graph);
  DnnGraphTail parts;
  parts.tensors = tail.Array<DnnTensor>(graph.tensor_count);
  parts.operations = tail.Array<DnnOperation>(graph.operation_count);
  parts.nodes = tail.Bytes(graph.node_bytes);
  return parts;
}

LibraryTail LibraryTailOf(std::span<const std::byte> definition) {
  const auto call = WorkOf<Library>(definition);
  Tail tail(definition, call);
  LibraryTail parts;
  parts.name = tail.Text(call.name_bytes);
  parts.numbers = tail.Array<std::int64_t>(call.number_count);
  return parts;
}

std::string DisplayName(std::span<const std::byte> definition) {
  static constexpr std::string_view kCopies[] = {"memcpy HtoD", "memcpy DtoH", "memcpy DtoD",
                                                 "memcpy PtoP", "memcpy HtoH", "memset"};
  switch (KindOf(definition)) {
    case WorkKind::kKernel:
      return std::string(KernelTailOf(definition).name);
    case WorkKind::kGemm:
      return NameOfGemm(WorkOf<Gemm>(definition));
    case WorkKind::kDnnGraph:
      return "cudnn graph";
    case WorkKind::kCopy:
    case WorkKind::kMemset:
      return std::string(kCopies[static_cast<std::size_t>(WorkOf<Copy>(definition).kind)]);
    case WorkKind::kLibrary:
      return std::string(LibraryTailOf(definition).name);
  }
  return "unknown";
}

}  // namespace eidolon::workload
