// Work definitions: what a launch executes, without device addresses, so that equal work has equal
// bytes and can be interned by the shim and cached by the agent.
//
// A definition is a WorkHeader, the fixed struct of its kind, and a tail. All fields are little
// endian, padding bytes are zero. Words that pointed into emulated device memory are blanked: only
// the lowest 8 bits (the alignment) and workload::kPointerTag remain.
#pragma once

#include <cstdint>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/dnn_value.h"
#include "services/contract/workload/epilogue.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/contract/workload/pointer_tag.h"

namespace eidolon::ring {

enum class WorkKind : std::uint32_t {
  kKernel = 1,  // KernelWork.
  kGemm,        // GemmWork.
  kDnnGraph,    // DnnGraphWork.
  kCopy,        // CopyWork.
  kMemset,      // CopyWork.
  kLibrary,  // LibraryWork: other library calls (cuFFT, cuSOLVER, cuSPARSE), by name and numbers.
};

struct WorkHeader {
  WorkKind kind;
  std::uint32_t bytes;  // Of the whole definition, WorkHeader included.
};

struct Dim3 {
  std::uint32_t x, y, z;
};

// Tail: name (name_bytes), ParameterSlot[parameter_count], parameter bytes (parameter_bytes). The
// last slot may be a workload::GroupedGemm.
struct KernelWork {
  WorkHeader header;
  std::uint64_t module_hash[2];  // base::Hash128 of the cubin, 0 when unknown.
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;  // 0,0,0 without clusters.
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t static_shared_bytes;
  std::uint32_t registers;                  // Per thread.
  std::uint32_t blocks_per_multiprocessor;  // By the occupancy rules.
  std::uint32_t cooperative;
  std::uint32_t name_bytes;  // Mangled name.
  std::uint32_t parameter_count;
  std::uint32_t parameter_bytes;
  std::uint32_t reserved;
};

struct ParameterSlot {
  std::uint32_t offset;
  std::uint32_t bytes;
};

// Element types of library work: cudaDataType_t's numbers, which cuBLAS and cuBLASLt share. cuDNN's
// types are mapped to them.
using DataType = std::uint32_t;

// D = alpha op(A) op(B) + beta C, column major as in BLAS: op(A) is m x k, op(B) is k x n.
struct GemmWork {
  WorkHeader header;
  std::uint64_t m, n, k, batch;
  std::uint64_t lda, ldb, ldc, ldd;
  std::uint64_t stride_a, stride_b, stride_c, stride_d;  // Between batch members, elements.
  DataType type_a, type_b, type_c, type_d;
  std::uint32_t compute_type;  // cublasComputeType_t.
  std::uint32_t transpose_a, transpose_b;
  workload::Epilogue epilogue;
  std::uint32_t beta_zero;      // 1: C is not read.
  std::uint32_t scale_mode;     // FP8 and MX scaling: 0 none, else 1 + cublasLtMatmulMatrixScale_t.
  std::uint32_t pointer_array;  // Batched by an array of pointers.
  std::uint32_t fast_accumulation;  // FP8: adds up with fewer bits.
};

inline constexpr int kMaxDnnDims = 8;

struct DnnTensor {
  std::int64_t uid;
  std::int64_t dims[kMaxDnnDims];
  std::int64_t strides[kMaxDnnDims];
  std::uint32_t rank;
  DataType type;
  std::uint32_t is_virtual;  // Lives only inside the graph: never touches memory.
  std::uint32_t by_value;
};

// An operation of a cuDNN backend graph. `kind` is the descriptor type's number
// (CUDNN_BACKEND_OPERATION_..._DESCRIPTOR); `mode` the pointwise, reduction or normalisation mode.
struct DnnOperation {
  std::uint32_t kind;
  std::uint32_t mode;
  std::uint32_t phase;  // Training or inference for normalisations.
  std::uint32_t input_count;
  std::uint32_t output_count;
  std::uint32_t convolution_rank;  // Spatial dimensions, 0 when not a convolution.
  std::int64_t pads[4], post_pads[4], conv_strides[4], dilations[4];
  std::int64_t inputs[12];  // Tensor uids.
  std::int64_t outputs[8];
};

// The engine without tensor cores; all others may use them.
inline constexpr std::uint32_t kPlainDnnEngine = 1;

// Tail: DnnTensor[tensor_count], DnnOperation[operation_count], in the order the program gave; then
// node_bytes of nodes.
struct DnnGraphWork {
  WorkHeader header;
  std::uint32_t tensor_count;
  std::uint32_t operation_count;
  std::uint32_t engine;  // Global engine index chosen by the program.
  std::uint32_t node_bytes;
};

// The program's own descriptors, from which the graph can be made again: those that a node refers
// to come before it, the operation graph is the last. A node is a DnnNode and its attributes; an
// attribute is a DnnAttribute, element_bytes of plain elements, and reference_count indices of
// nodes (uint32). Nothing is aligned. Tensors' identifiers are the work's own.
struct DnnNode {
  std::uint32_t type;  // cudnnBackendDescriptorType_t.
  std::uint32_t attribute_count;
};
struct DnnAttribute {
  std::uint32_t name;  // cudnnBackendAttributeName_t, or workload::kDnnValue.
  std::uint32_t type;  // cudnnBackendAttributeType_t.
  std::uint32_t element_bytes;
  std::uint32_t reference_count;
};
struct CopyWork {
  WorkHeader header;
  workload::CopyKind kind;
  std::uint32_t pinned;         // The host side is page locked.
  std::uint64_t bytes;          // In all.
  std::uint64_t row_bytes;      // 2D and 3D copies: bytes of a contiguous row; else equal to bytes.
  std::int32_t peer_device;     // kPeer: the destination's server-local index; else -1.
  std::uint32_t element_bytes;  // Memset: width of the pattern.
};

// Tail: name (name_bytes), then `number_count` int64 values that size the call. flops and bytes are
// the shim's own count from the call's arguments, for the roofline.
struct LibraryWork {
  WorkHeader header;
  std::uint64_t flops;
  std::uint64_t memory_bytes;
  DataType type;
  std::uint32_t name_bytes;
  std::uint32_t number_count;
  std::uint32_t reserved;
};

// Both sides of the ring are built together, but captures of rings outlive a build.
static_assert(sizeof(KernelWork) == 96);
static_assert(sizeof(GemmWork) == 152);
static_assert(sizeof(CopyWork) == 40);
static_assert(sizeof(LibraryWork) == 40);
static_assert(sizeof(DnnTensor) == 152);
static_assert(sizeof(DnnOperation) == 312);
static_assert(sizeof(DnnGraphWork) == 24);

}  // namespace eidolon::ring
