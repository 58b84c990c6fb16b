// The work definition (work.h) of a GEMM of a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "services/contract/workload/epilogue.h"
#include "services/contract/workload/fields.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

// D = alpha op(A) op(B) + beta C, column major as in BLAS: op(A) is m x k, op(B) is k x n.
struct Gemm {
  WorkHeader header{WorkKind::kGemm, sizeof(Gemm)};
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
  std::uint64_t lda = 0, ldb = 0, ldc = 0, ldd = 0;
  // Strides between batch members, in elements.
  std::uint64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;
  DataType type_a = 0, type_b = 0, type_c = 0, type_d = 0;
  std::uint32_t compute_type = 0;  // cublasComputeType_t.
  std::uint32_t transpose_a = 0, transpose_b = 0;
  Epilogue epilogue = Epilogue::kNone;
  std::uint32_t beta_zero = 1;          // C is not read.
  std::uint32_t scale_mode = 0;         // FP8 and MX: 0 none, else 1 + cublasLtMatmulMatrixScale_t.
  std::uint32_t pointer_array = 0;      // Batched by an array of pointers.
  std::uint32_t fast_accumulation = 0;  // FP8: adds up with fewer bits.
};
template <>
inline constexpr auto kFields<Gemm> = std::tuple{
    Field{"m", &Gemm::m, Key::kSize},
    Field{"n", &Gemm::n, Key::kShape},
    Field{"k", &Gemm::k, Key::kShape},
    Field{"batch", &Gemm::batch, Key::kShape},
    Field{"lda", &Gemm::lda, Key::kAlignment},
    Field{"ldb", &Gemm::ldb, Key::kAlignment},
    Field{"ldc", &Gemm::ldc, Key::kAlignment},
    Field{"ldd", &Gemm::ldd, Key::kAlignment},
    Field{"stride_a", &Gemm::stride_a},
    Field{"stride_b", &Gemm::stride_b},
    Field{"stride_c", &Gemm::stride_c},
    Field{"stride_d", &Gemm::stride_d},
    Field{"type_a", &Gemm::type_a, Key::kShape},
    Field{"type_b", &Gemm::type_b, Key::kShape},
    Field{"type_c", &Gemm::type_c, Key::kShape},
    Field{"type_d", &Gemm::type_d, Key::kShape},
    Field{"compute_type", &Gemm::compute_type, Key::kShape},
    Field{"transpose_a", &Gemm::transpose_a, Key::kFlag},
    Field{"transpose_b", &Gemm::transpose_b, Key::kFlag},
    Field{"epilogue", &Gemm::epilogue, Key::kShape, kEpilogues - 1},
    Field{"beta_zero", &Gemm::beta_zero, Key::kFlag},
    Field{"scale_mode", &Gemm::scale_mode, Key::kShape},
    Field{"pointer_array", &Gemm::pointer_array, Key::kFlag},
    Field{"fast_accumulation", &Gemm::fast_accumulation, Key::kWhenSet},
};

// Bytes of a definition of the first layout.
template <>
inline constexpr std::size_t kLeastBytes<Gemm> = 152;

}  // namespace eidolon::workload
