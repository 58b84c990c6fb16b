// What cublasLtMatmul is asked to compute: descriptors and layouts become one workload::Gemm, in
// BLAS's column-major terms.
#pragma once

#include <cublasLt.h>

#include <expected>

#include "services/contract/workload/work.h"
#include "shim/vendor/cublas_lt/descriptor.h"

namespace eidolon::shim::cublas_lt {

// The four layouts of a GEMM as the program gave them.
struct Layouts {
  const MatrixLayout* a = nullptr;
  const MatrixLayout* b = nullptr;
  const MatrixLayout* c = nullptr;
  const MatrixLayout* d = nullptr;
};

// The GEMM that a descriptor and layouts describe, without beta; or cuBLASLt's code:
// INVALID_VALUE when the shapes do not fit together, NOT_SUPPORTED when this GPU has no such
// GEMM.
std::expected<workload::Gemm, cublasStatus_t> Describe(const MatmulDesc& desc,
                                                       const Layouts& layouts);

}  // namespace eidolon::shim::cublas_lt
