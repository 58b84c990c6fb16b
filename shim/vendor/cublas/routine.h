// The rest of BLAS: how a routine's arguments become counted work. Level headers hold the entry
// points.
#pragma once

#include <cublas_api.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/gemm.h"

namespace eidolon::shim::cublas {

// Work of a routine, counted in its own element type.
struct Routine {
  std::string_view name;  // "cublas.gemv".
  cudaDataType_t type = CUDA_R_32F;
  double multiply_adds = 0;  // Of the element type; a complex one counts four real ones.
  double elements = 0;       // Read or written in device memory.
  std::initializer_list<std::int64_t> numbers;
  const void* output = nullptr;  // What it overwrites, if it is one extent.
  std::int64_t output_elements = 0;
  // Batched routines: a table of pointers in device memory, each to output_elements.
  const void* output_table = nullptr;
  std::int64_t table_entries = 0;
  // The computed GEMM, if it is one; its scalars are `alpha` and `beta`.
  const compute::Gemm* gemm = nullptr;
  const void* alpha = nullptr;  // Null: one.
  const void* beta = nullptr;   // Null: zero.
  cudaDataType_t scale_type = CUDA_R_32F;
};

// y = op(A) x of m x n matrices, or of `batch` of them. Increments below 1 give nothing to compute.
struct VectorOperand {
  const void* address = nullptr;
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t step = 1;  // Its increment, or a matrix's leading dimension.
  std::int64_t stride = 0;
};
compute::Gemm GemvAsGemm(cublasOperation_t operation, std::int64_t m, std::int64_t n,
                         const VectorOperand& a, const VectorOperand& x, const VectorOperand& y,
                         std::int64_t batch = 1);
// The sum of x times y; D is left out.
compute::Gemm DotAsGemm(std::int64_t n, const VectorOperand& x, const VectorOperand& y);

// Submits the routine. Negative numbers are refused, and a zero among the first `size_count`
// numbers makes the call succeed without work, as in BLAS.
cublasStatus_t Run(cublasHandle_t handle, const Routine& routine, int size_count);

// What must hold of a routine's distances: columns are as far apart as they are long, even where
// there is none, and vectors move.
struct Strides {
  struct Matrix {
    std::int64_t leading;
    std::int64_t rows;
  };
  std::initializer_list<Matrix> matrices;
  std::initializer_list<std::int64_t> increments;
};
cublasStatus_t Run(cublasHandle_t handle, const Routine& routine, int size_count,
                   const Strides& strides);

// The same for a routine with one result (dot, norm, index): on the device in device pointer mode,
// else the call waits for the stream and answers by the job's policy for unknown values.
struct Result {
  void* address = nullptr;
  cudaDataType_t type = CUDA_R_32F;
};
cublasStatus_t RunWithResult(cublasHandle_t handle, const Routine& routine, const Result& result);

// Status words of batched factorisations: the routines are assumed to succeed.
void ReportSuccess(cublasHandle_t handle, int* device_info, std::int64_t count);

// Pivots of factorisations: 32-bit integers that nobody computes. Null is left out.
void NoteOverwritten(cublasHandle_t handle, const int* integers, std::int64_t count);

// Elements that a strided vector or a column-major matrix spans.
constexpr std::int64_t Span(std::int64_t n, std::int64_t increment) {
  return n <= 0 ? 0 : (n - 1) * (increment < 0 ? -increment : increment) + 1;
}
constexpr std::int64_t MatrixSpan(std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  return columns <= 0 ? 0 : (columns - 1) * leading + rows;
}

}  // namespace eidolon::shim::cublas
