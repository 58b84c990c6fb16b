// The work has BLAS's terms, column-major and transposition only, and cuBLASLt lets each matrix
// choose its order. A row-major matrix is a column-major one transposed; if D is row-major, the
// GEMM is D^T = op(B)^T op(A)^T, so the factors change places. Shapes are compared before types, as
// their codes differ: INVALID_VALUE for matrices that do not fit each other, NOT_SUPPORTED for what
// this GPU lacks. Narrow formats depend on the compute capability, given as major * 10 + minor.
#include "shim/vendor/cublas_lt/gemm_description.h"

#include <utility>

#include "services/contract/workload/epilogue.h"
#include "shim/core/call_scope.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/library/element_type.h"

namespace eidolon::shim::cublas_lt {
namespace {

bool IsFloat8(std::uint32_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

bool IsSingle(int compute_type) {
  return compute_type >= CUBLAS_COMPUTE_32F && compute_type <= CUBLAS_COMPUTE_32F_EMULATED_16BFX9 &&
         compute_type != CUBLAS_COMPUTE_64F && compute_type != CUBLAS_COMPUTE_64F_PEDANTIC &&
         compute_type != CUBLAS_COMPUTE_32I && compute_type != CUBLAS_COMPUTE_32I_PEDANTIC;
}

// Eight-bit and narrower floating formats depend on the GPU: since 8.9, and in other than
// transposed A, plain B only since 10.0; four bits since 10.0.
bool IsNarrowSupported(const MatmulDesc& desc, std::uint32_t a, std::uint32_t b, std::uint32_t d,
                       int capability) {
  if (!IsSingle(desc.compute_type)) return false;
  const bool out =
      d == CUDA_R_16BF || d == CUDA_R_16F || d == CUDA_R_32F || IsFloat8(d) || d == CUDA_R_4F_E2M1;
  if (a == CUDA_R_4F_E2M1 || b == CUDA_R_4F_E2M1) return a == b && out && capability >= 100;
  if (!IsFloat8(a) || !IsFloat8(b) || !out || capability < 89) return false;
  if (a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2) return false;
  return capability >= 100 || (desc.transpose_a == CUBLAS_OP_T && desc.transpose_b == CUBLAS_OP_N);
}

bool AreTypesSupported(const MatmulDesc& desc, std::uint32_t a, std::uint32_t b, std::uint32_t d,
                       int capability) {
  if (library::BitsOf(a) < 8 || IsFloat8(a) || IsFloat8(b)) {
    return IsNarrowSupported(desc, a, b, d, capability);
  }
  if (a != b) return false;
  switch (desc.compute_type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return a == CUDA_R_16F && d == CUDA_R_16F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return a == CUDA_R_8I && (d == CUDA_R_32I || d == CUDA_R_8I);
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
      return a == d && (a == CUDA_R_64F || a == CUDA_C_64F);
    default:
      break;
  }
  if (!IsSingle(desc.compute_type)) return false;
  if (a == CUDA_R_16F || a == CUDA_R_16BF) return d == a || d == CUDA_R_32F;
  return (a == CUDA_R_32F && d == CUDA_R_32F) || (a == CUDA_C_32F && d == CUDA_C_32F) ||
         (a == CUDA_R_8I && d == CUDA_R_32F);
}

workload::Epilogue EpilogueOf(std::uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return workload::Epilogue::kNone;
    case CUBLASLT_EPILOGUE_BIAS:
      return workload::Epilogue::kBias;
    case CUBLASLT_EPILOGUE_RELU:
      return workload::Epilogue::kRelu;
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return workload::Epilogue::kReluBias;
    case CUBLASLT_EPILOGUE_GELU:
      return workload::Epilogue::kGelu;
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return workload::Epilogue::kGeluBias;
    case CUBLASLT_EPILOGUE_GELU_AUX:
      return workload::Epilogue::kGeluAux;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      return workload::Epilogue::kGeluAuxBias;
    case CUBLASLT_EPILOGUE_RELU_AUX:
      return workload::Epilogue::kReluAux;
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      return workload::Epilogue::kReluAuxBias;
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
      return workload::Epilogue::kDReluBgrad;
    case CUBLASLT_EPILOGUE_DRELU:
      return workload::Epilogue::kDRelu;
    case CUBLASLT_EPILOGUE_DGELU:
      return workload::Epilogue::kDGelu;
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      return workload::Epilogue::kDGeluBgrad;
    case CUBLASLT_EPILOGUE_BGRADA:
      return workload::Epilogue::kBgradA;
    case CUBLASLT_EPILOGUE_BGRADB:
      return workload::Epilogue::kBgradB;
    default:
      return workload::Epilogue::kOther;
  }
}

bool IsPlainOrder(const MatrixLayout& layout) {
  return layout.order == CUBLASLT_ORDER_COL || layout.order == CUBLASLT_ORDER_ROW;
}

// Big enough for its own rows or columns, and not overlapping itself.
bool IsWellFormed(const MatrixLayout& layout) {
  const std::uint64_t inner = layout.order == CUBLASLT_ORDER_ROW ? layout.cols : layout.rows;
  return layout.leading >= 0 && static_cast<std::uint64_t>(layout.leading) >= inner &&
         layout.batch >= 0;
}

// One operand in column-major terms: a row-major matrix is a column-major one transposed.
struct Operand {
  const MatrixLayout* layout;
  bool transposed;
};
Operand ColumnMajor(const MatrixLayout* layout, std::int32_t transpose) {
  return {layout, (transpose != CUBLAS_OP_N) != (layout->order == CUBLASLT_ORDER_ROW)};
}

int Capability() {
  const core::Session* session = core::Session::Get();
  if (session == nullptr) return 0;
  const auto& device = session->device(gpu::CurrentDevice());
  return static_cast<int>(device.compute_major * 10 + device.compute_minor);
}

// 1 + the mode of A, or of B, when narrow formats are scaled.
std::uint32_t ScaleModeOf(const MatmulDesc& desc) {
  if (desc.scale_a != nullptr) return 1 + static_cast<std::uint32_t>(desc.scale_mode_a);
  if (desc.scale_b != nullptr) return 1 + static_cast<std::uint32_t>(desc.scale_mode_b);
  return 0;
}

cublasStatus_t CheckShapes(const MatmulDesc& desc, const Layouts& l) {
  const auto rows_of = [](const MatrixLayout& m, std::int32_t t) {
    return t == CUBLAS_OP_N ? m.rows : m.cols;
  };
  const auto cols_of = [](const MatrixLayout& m, std::int32_t t) {
    return t == CUBLAS_OP_N ? m.cols : m.rows;
  };
  const bool fits = rows_of(*l.a, desc.transpose_a) == l.d->rows &&
                    cols_of(*l.b, desc.transpose_b) == l.d->cols &&
                    cols_of(*l.a, desc.transpose_a) == rows_of(*l.b, desc.transpose_b) &&
                    l.c->rows == l.d->rows && l.c->cols == l.d->cols;
  const bool batches = (l.a->batch == l.d->batch || l.a->batch == 1) &&
                       (l.b->batch == l.d->batch || l.b->batch == 1);
  for (const MatrixLayout* layout : {l.a, l.b, l.c, l.d}) {
    if (!IsPlainOrder(*layout) || layout->batch_mode == CUBLASLT_BATCH_MODE_GROUPED ||
        layout->plane_offset != 0) {
      core::CountRefusal("cublasLtMatmul(layout other than row or column major)");
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (!IsWellFormed(*layout)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!fits || !batches) return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

std::expected<workload::Gemm, cublasStatus_t> Describe(const MatmulDesc& desc, const Layouts& l) {
  if (const auto status = CheckShapes(desc, l); status != CUBLAS_STATUS_SUCCESS) {
    return std::unexpected(status);
  }
  if (!AreTypesSupported(desc, l.a->type, l.b->type, l.d->type, Capability())) {
    return std::unexpected(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  Operand a = ColumnMajor(l.a, desc.transpose_a);
  Operand b = ColumnMajor(l.b, desc.transpose_b);
  workload::Gemm work{};
  work.m = l.d->rows;
  work.n = l.d->cols;
  work.k = desc.transpose_a == CUBLAS_OP_N ? l.a->cols : l.a->rows;
  if (l.d->order == CUBLASLT_ORDER_ROW) {
    // A row-major D is the column-major D^T = op(B)^T op(A)^T.
    std::swap(a, b);
    std::swap(work.m, work.n);
    a.transposed = !a.transposed;
    b.transposed = !b.transposed;
  }
  work.batch = static_cast<std::uint64_t>(l.d->batch);
  work.lda = static_cast<std::uint64_t>(a.layout->leading);
  work.ldb = static_cast<std::uint64_t>(b.layout->leading);
  work.ldc = static_cast<std::uint64_t>(l.c->leading);
  work.ldd = static_cast<std::uint64_t>(l.d->leading);
  work.stride_a = static_cast<std::uint64_t>(a.layout->stride);
  work.stride_b = static_cast<std::uint64_t>(b.layout->stride);
  work.stride_c = static_cast<std::uint64_t>(l.c->stride);
  work.stride_d = static_cast<std::uint64_t>(l.d->stride);
  work.type_a = a.layout->type;
  work.type_b = b.layout->type;
  work.type_c = l.c->type;
  work.type_d = l.d->type;
  work.compute_type = static_cast<std::uint32_t>(desc.compute_type);
  work.transpose_a = a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  work.transpose_b = b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  work.epilogue = EpilogueOf(desc.epilogue);
  work.scale_mode = ScaleModeOf(desc);
  work.fast_accumulation = IsFloat8(work.type_a) && desc.fast_accumulation != 0 ? 1 : 0;
  work.pointer_array = l.d->batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY ? 1 : 0;
  return work;
}

}  // namespace eidolon::shim::cublas_lt
