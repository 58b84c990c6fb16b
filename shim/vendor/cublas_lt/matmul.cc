// The work says how long the call takes; the value of the result is computed only for what
// compute::Gemm can express: plain, bias, ReLU and GELU epilogues, without scaling of narrow
// formats. For every other epilogue each buffer that it writes is forgotten (D, the bias gradient,
// the auxiliary output, the largest magnitude): one that is left out would keep stale bytes that
// look known. Numbers of the epilogue are a bit field in cuBLASLt's header (bias 4, gradients of
// activations 8 and 64, gradients of the bias 16, 256 and 512, auxiliary buffer 128).
#include "shim/vendor/cublas_lt/matmul.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "services/contract/workload/epilogue.h"
#include "shim/core/call_scope.h"
#include "shim/core/session.h"
#include "shim/gpu/stream/submit.h"
#include "shim/value/pending.h"
#include "shim/value/store.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas_lt/algorithm.h"
#include "shim/vendor/cublas_lt/descriptor.h"
#include "shim/vendor/cublas_lt/gemm_description.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/gemm.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cublas_lt {
namespace {

// True only for a beta that is known to be zero.
bool IsBetaZero(const MatmulDesc& desc, const void* beta) {
  if (desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO) return true;
  if (beta == nullptr) return true;
  unsigned char bytes[16] = {};
  const std::size_t size =
      std::min<std::size_t>(library::BytesOf(static_cast<std::uint32_t>(desc.scale_type), 1), 16);
  if (size == 0) return false;
  const bool on_host = desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
                       desc.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST;
  if (on_host) {
    std::memcpy(bytes, beta, size);
  } else {
    const auto address = reinterpret_cast<std::uint64_t>(beta);
    if (!value::ProcessPending().IsKnown(address, size)) return false;
    value::ProcessStore().Read(address, bytes, size);
  }
  return std::all_of(bytes, bytes + size, [](unsigned char byte) { return byte == 0; });
}

std::uint64_t ExtentOf(const MatrixLayout& layout) {
  const bool row = layout.order == CUBLASLT_ORDER_ROW;
  const std::uint64_t outer = row ? layout.rows : layout.cols;
  const std::uint64_t inner = row ? layout.cols : layout.rows;
  if (outer == 0 || layout.batch <= 0) return 0;
  const std::uint64_t one = (outer - 1) * static_cast<std::uint64_t>(layout.leading) + inner;
  const auto stride = static_cast<std::uint64_t>(std::max<std::int64_t>(layout.stride, 0));
  return library::BytesOf(layout.type, one + static_cast<std::uint64_t>(layout.batch - 1) * stride);
}

void ForgetOutputs(const MatmulDesc& desc, const Layouts& layouts, void* d, cudaStream_t stream) {
  if (layouts.d->batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY) {
    return library::NoteWrittenAnywhere(stream);
  }
  library::NoteWritten(stream, d, ExtentOf(*layouts.d));
  const auto width = std::max<std::uint64_t>(library::BytesOf(layouts.d->type, 1), 4);
  const bool bias_gradient =
      (desc.epilogue & (16 | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0;
  if (bias_gradient) {
    library::NoteWritten(stream, desc.bias, std::max(layouts.d->rows, layouts.d->cols) * width);
  }
  const bool aux_output =
      (desc.epilogue & 128) != 0 && (desc.epilogue & (8 | 64)) == 0;  // Not of a backward epilogue.
  if (aux_output) {
    library::NoteWritten(stream, desc.aux,
                         static_cast<std::uint64_t>(desc.aux_leading) * layouts.d->cols * width);
  }
  library::NoteWritten(stream, desc.amax_d, sizeof(float));
}

// The bias and activation that are computed; nothing for other epilogues, and for scaled formats.
std::optional<compute::Gemm> PlainGemm(const MatmulDesc& desc, const workload::Gemm& work) {
  compute::Gemm gemm;
  switch (work.epilogue) {
    case workload::Epilogue::kNone:
    case workload::Epilogue::kBias:
      break;
    case workload::Epilogue::kRelu:
    case workload::Epilogue::kReluBias:
      gemm.activation = compute::Activation::kRelu;
      break;
    case workload::Epilogue::kGelu:
    case workload::Epilogue::kGeluBias:
      gemm.activation = compute::Activation::kGelu;
      break;
    default:
      return std::nullopt;
  }
  const bool scaled = desc.scale_a != nullptr || desc.scale_b != nullptr ||
                      desc.scale_c != nullptr || desc.scale_d != nullptr || desc.amax_d != nullptr;
  const bool plain_mode = desc.pointer_mode == CUBLASLT_POINTER_MODE_HOST ||
                          desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  if (scaled || !plain_mode || desc.transpose_c != CUBLAS_OP_N || work.pointer_array != 0 ||
      desc.alpha_stride != 0 || desc.beta_stride != 0) {
    return std::nullopt;
  }
  return gemm;
}

compute::GemmMatrix MatrixOf(const void* address, std::uint32_t type, std::uint64_t leading,
                             std::uint64_t stride) {
  return {.address = reinterpret_cast<std::uint64_t>(address),
          .type = library::ElementOf(type),
          .leading = static_cast<std::int64_t>(leading),
          .stride = static_cast<std::int64_t>(stride)};
}

struct Arguments {
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  const void* c;
  void* d;
};

// Returns what the work computes; nothing when it is not computed.
std::optional<compute::Gemm> GemmOf(const MatmulDesc& desc, const Layouts& layouts,
                                    const workload::Gemm& work, const Arguments& in) {
  auto gemm = PlainGemm(desc, work);
  const bool row_major = layouts.d->order == CUBLASLT_ORDER_ROW;
  if (!gemm || layouts.c->order != layouts.d->order) return std::nullopt;
  // Only transposition is kept in the work; and a bias runs along D's rows, wherever these lie.
  const bool conjugates = desc.transpose_a == CUBLAS_OP_C || desc.transpose_b == CUBLAS_OP_C;
  const bool biased = (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if ((conjugates && library::IsComplex(work.type_a)) || (biased && row_major)) return std::nullopt;
  gemm->m = static_cast<std::int64_t>(work.m);
  gemm->n = static_cast<std::int64_t>(work.n);
  gemm->k = static_cast<std::int64_t>(work.k);
  gemm->batch = static_cast<std::int64_t>(work.batch);
  const auto transpose = [](std::uint32_t operation) {
    return operation == CUBLAS_OP_N ? compute::Transpose::kNo : compute::Transpose::kYes;
  };
  gemm->transpose_a = transpose(work.transpose_a);
  gemm->transpose_b = transpose(work.transpose_b);
  gemm->a = MatrixOf(row_major ? in.b : in.a, work.type_a, work.lda, work.stride_a);
  gemm->b = MatrixOf(row_major ? in.a : in.b, work.type_b, work.ldb, work.stride_b);
  gemm->c = MatrixOf(in.c, work.type_c, work.ldc, work.stride_c);
  gemm->d = MatrixOf(in.d, work.type_d, work.ldd, work.stride_d);
  const bool on_device = desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const auto scale_type = static_cast<std::uint32_t>(desc.scale_type);
  gemm->alpha = library::ScalarOf(in.alpha, scale_type, on_device);
  gemm->beta = library::ScalarOf(in.beta, scale_type, on_device);
  gemm->rounds_to_tf32 = desc.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (biased) {
    if (desc.bias == nullptr || work.batch != 1) return std::nullopt;
    const bool given = desc.bias_type >= 0;
    gemm->bias = MatrixOf(
        desc.bias, given ? static_cast<std::uint32_t>(desc.bias_type) : work.type_d, work.m, 0);
  }
  return gemm;
}

}  // namespace

namespace matmul {

cublasStatus_t Matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_handle, const void* alpha,
                      const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                      cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                      cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                      const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream) {
  if (cublas::Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const MatmulDesc* desc = FindDescriptor<MatmulDesc>(desc_handle);
  Layouts layouts{FindDescriptor<MatrixLayout>(layout_a), FindDescriptor<MatrixLayout>(layout_b),
                  FindDescriptor<MatrixLayout>(layout_c), FindDescriptor<MatrixLayout>(layout_d)};
  if (layouts.c == nullptr) layouts.c = layouts.d;
  if (desc == nullptr || layouts.a == nullptr || layouts.b == nullptr || layouts.d == nullptr ||
      alpha == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (workspace_bytes > 0 && workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm != nullptr && !algorithm::IsOurs(*algorithm)) return CUBLAS_STATUS_INVALID_VALUE;

  auto work = Describe(*desc, layouts);
  if (!work.has_value()) return work.error();
  if (work->m == 0 || work->n == 0 || work->batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (a == nullptr || b == nullptr || d == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  work->beta_zero = IsBetaZero(*desc, beta) ? 1 : 0;
  const gpu::Status status = library::Submit(stream, *work);
  if (status == gpu::Status::kSuccess) {
    const auto gemm = GemmOf(*desc, layouts, *work, {alpha, a, b, beta, c, d});
    library::AfterGemm(stream, gemm.value_or(compute::Gemm{}),
                       [&] { ForgetOutputs(*desc, layouts, d, stream); });
  }
  return cublas::ToCublas(status);
}

cublasStatus_t Transform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc_handle,
                         const void* alpha, const void* a, cublasLtMatrixLayout_t layout_a,
                         const void*, const void* b, cublasLtMatrixLayout_t layout_b, void* c,
                         cublasLtMatrixLayout_t layout_c, cudaStream_t stream) {
  if (cublas::Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const TransformDesc* desc = FindDescriptor<TransformDesc>(desc_handle);
  const MatrixLayout* target = FindDescriptor<MatrixLayout>(layout_c);
  const MatrixLayout* first = FindDescriptor<MatrixLayout>(layout_a);
  const MatrixLayout* second = FindDescriptor<MatrixLayout>(layout_b);
  if (desc == nullptr || target == nullptr || c == nullptr || alpha == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if ((a != nullptr && first == nullptr) || (b != nullptr && second == nullptr)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto elements =
      target->rows * target->cols * static_cast<std::uint64_t>(std::max(target->batch, 0));
  if (elements == 0) return CUBLAS_STATUS_SUCCESS;
  std::uint64_t bytes = library::BytesOf(target->type, elements);
  if (a != nullptr) bytes += library::BytesOf(first->type, elements);
  if (b != nullptr) bytes += library::BytesOf(second->type, elements);
  const gpu::Status status = library::Submit(
      stream, library::Call{.name = "cublaslt.transform",
                            .type = target->type,
                            .flops = elements * (b != nullptr ? 3 : 1),
                            .memory_bytes = bytes,
                            .numbers = {static_cast<std::int64_t>(target->rows),
                                        static_cast<std::int64_t>(target->cols), target->batch,
                                        target->order, desc->transpose_a, desc->transpose_b}});
  if (status == gpu::Status::kSuccess) library::NoteWritten(stream, c, ExtentOf(*target));
  return cublas::ToCublas(status);
}

}  // namespace matmul
}  // namespace eidolon::shim::cublas_lt
