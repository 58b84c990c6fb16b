// Work of one operation, without addresses: the input of every estimate. The structs are those of
// work definitions (contract/workload), with their tails; numbers of vendor enums are kept as they
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "services/base/error.h"
#include "services/contract/workload/dnn_nodes.h"
#include "services/contract/workload/work.h"

namespace eidolon::timing::kernel {

using workload::Copy;
using workload::Dim3;
using workload::DnnAttribute;
using workload::DnnNode;
using workload::DnnOperation;
using workload::DnnTensor;
using workload::Gemm;
using workload::ParameterSlot;

// The sizes in the structs below are those of the definition; what follows them decides.
struct KernelLaunch : workload::Kernel {
  std::string name;  // Mangled.
  std::vector<ParameterSlot> slots;
  std::string parameters;  // The block, device pointers blanked.
};

struct DnnGraph : workload::DnnGraph {
  std::vector<DnnTensor> tensors;
  std::vector<DnnOperation> operations;
  // Nodes for making the graph again, except for a convolution alone.
  std::vector<DnnNode> nodes;
};

struct LibraryCall : workload::Library {
  std::string name;
  std::vector<std::int64_t> numbers;
};

using WorkItem = std::variant<KernelLaunch, Gemm, DnnGraph, Copy, LibraryCall>;

// The item that a definition describes. The error names kind and field.
base::Result<WorkItem> ReadWork(std::span<const std::byte> definition);
// The inverse.
std::vector<std::byte> DefinitionOf(const WorkItem& item);

// Returns whether the copy is between a device and pageable memory of the host, so that the host
// takes part.
inline bool IsPageable(const Copy& copy) {
  return copy.pinned == 0 && (copy.kind == workload::CopyKind::kHostToDevice ||
                              copy.kind == workload::CopyKind::kDeviceToHost);
}

}  // namespace eidolon::timing::kernel
