// Head with which every work definition (work.h) starts.
#pragma once

#include <cstdint>

namespace eidolon::workload {

enum class WorkKind : std::uint32_t {
  kKernel = 1,  // Kernel.
  kGemm,        // Gemm.
  kDnnGraph,    // DnnGraph.
  kCopy,        // Copy.
  kMemset,      // Copy.
  kLibrary,     // Library.
};

struct WorkHeader {
  WorkKind kind;
  std::uint32_t bytes;  // Of the whole definition, WorkHeader included.
};

// Element types of library work: cudaDataType_t's numbers, which cuBLAS and cuBLASLt share. cuDNN's
// types are mapped to them.
using DataType = std::uint32_t;

// Limit of each part of a tail that is a name, or parameters.
inline constexpr std::uint64_t kTextBytesMax = 64 * 1024;

}  // namespace eidolon::workload
