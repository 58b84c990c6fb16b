// What one operation executes, without addresses: the input of every estimate. Plain data, the
// domain's own form of proto/eidolon/timing/v1; numbers of vendor enums are kept as they are.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/dnn_value.h"
#include "services/contract/workload/epilogue.h"
#include "services/contract/workload/work.h"

namespace eidolon::timing::kernel {

struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::uint64_t Count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

struct ParameterSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
};

struct KernelLaunch {
  std::string name;         // Mangled.
  std::string module_hash;  // 16 bytes, or empty.
  Dim3 grid;
  Dim3 block;
  Dim3 cluster{0, 0, 0};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t registers = 0;
  std::uint32_t blocks_per_multiprocessor = 0;
  bool cooperative = false;
  std::vector<ParameterSlot> slots;
  std::string parameters;  // The block, device pointers blanked.
};

using workload::Gemm;

struct DnnTensor {
  std::int64_t uid = 0;
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  std::uint32_t type = 0;  // cudaDataType_t.
  bool is_virtual = false;
};

struct DnnOperation {
  std::uint32_t kind = 0;  // cuDNN backend descriptor type.
  std::uint32_t mode = 0;
  std::uint32_t phase = 0;
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> outputs;
  std::vector<std::int64_t> pads;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> post_pads;  // Empty: as `pads`.
};

// An attribute of a cuDNN backend descriptor.
struct DnnAttribute {
  std::uint32_t name = 0;  // cudnnBackendAttributeName_t, or workload::kDnnValue.
  std::uint32_t type = 0;  // cudnnBackendAttributeType_t.
  std::string elements;
  std::vector<std::uint32_t> nodes;  // Indices into DnnGraph::nodes, where it holds descriptors.
};
struct DnnNode {
  std::uint32_t type = 0;  // cuDNN backend descriptor type.
  std::vector<DnnAttribute> attributes;
};

struct DnnGraph {
  std::vector<DnnTensor> tensors;
  std::vector<DnnOperation> operations;
  // What making the graph again needs, except for a convolution alone; the operation graph is the
  // last. Those that a node refers to come before it.
  std::vector<DnnNode> nodes;
  bool without_tensor_cores = false;  // The program forbids TF32.
};

struct Copy {
  workload::CopyKind kind = workload::CopyKind::kUnspecified;
  std::uint64_t bytes = 0;
  std::uint64_t row_bytes = 0;
  bool pinned = false;
};

// Between a device and pageable memory of the host, so that the host takes part.
inline bool IsPageable(const Copy& copy) {
  return !copy.pinned && (copy.kind == workload::CopyKind::kHostToDevice ||
                          copy.kind == workload::CopyKind::kDeviceToHost);
}

struct LibraryCall {
  std::string name;
  std::uint64_t flops = 0;
  std::uint64_t memory_bytes = 0;
  std::uint32_t type = 0;
  std::vector<std::int64_t> numbers;
};

using WorkItem = std::variant<KernelLaunch, Gemm, DnnGraph, Copy, LibraryCall>;

}  // namespace eidolon::timing::kernel
