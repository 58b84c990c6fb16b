// cublasLtMatmul: descriptors and layouts become one GemmWork, in BLAS's column-major terms.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <expected>

#include "services/ring/work.h"
#include "shim/cublas_lt/descriptor.h"

namespace eidolon::shim::cublas_lt {

// The four layouts of a product as the program gave them.
struct Layouts {
  const MatrixLayout* a = nullptr;
  const MatrixLayout* b = nullptr;
  const MatrixLayout* c = nullptr;
  const MatrixLayout* d = nullptr;
};

// The product that a descriptor and layouts describe, without beta; or cuBLASLt's code:
// INVALID_VALUE when the shapes do not fit together, NOT_SUPPORTED when this GPU has no such
// product.
std::expected<ring::GemmWork, cublasStatus_t> Describe(const MatmulDesc& desc,
                                                       const Layouts& layouts);

namespace matmul {

cublasStatus_t Matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                      const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                      cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                      cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream);

cublasStatus_t Transform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                         const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                         const void* beta, const void* b, cublasLtMatrixLayout_t layout_b, void* c,
                         cublasLtMatrixLayout_t layout_c, cudaStream_t stream);

}  // namespace matmul
}  // namespace eidolon::shim::cublas_lt
