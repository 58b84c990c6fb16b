#include "shim/cublas_lt/matmul.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "shim/core/call.h"
#include "shim/core/session.h"
#include "shim/cublas/handle.h"
#include "shim/cublas_lt/algorithm.h"
#include "shim/gpu/submit.h"
#include "shim/library/element_type.h"
#include "shim/library/product.h"
#include "shim/library/work.h"
#include "shim/value/pending.h"
#include "shim/value/store.h"

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

ring::Epilogue EpilogueOf(std::uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return ring::Epilogue::kNone;
    case CUBLASLT_EPILOGUE_BIAS:
      return ring::Epilogue::kBias;
    case CUBLASLT_EPILOGUE_RELU:
      return ring::Epilogue::kRelu;
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return ring::Epilogue::kReluBias;
    case CUBLASLT_EPILOGUE_GELU:
      return ring::Epilogue::kGelu;
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return ring::Epilogue::kGeluBias;
    case CUBLASLT_EPILOGUE_GELU_AUX:
      return ring::Epilogue::kGeluAux;
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
      return ring::Epilogue::kGeluAuxBias;
    case CUBLASLT_EPILOGUE_RELU_AUX:
      return ring::Epilogue::kReluAux;
    case CUBLASLT_EPILOGUE_RELU_AUX_BIAS:
      return ring::Epilogue::kReluAuxBias;
    case CUBLASLT_EPILOGUE_DRELU_BGRAD:
      return ring::Epilogue::kDReluBgrad;
    case CUBLASLT_EPILOGUE_DRELU:
      return ring::Epilogue::kDRelu;
    case CUBLASLT_EPILOGUE_DGELU:
      return ring::Epilogue::kDGelu;
    case CUBLASLT_EPILOGUE_DGELU_BGRAD:
      return ring::Epilogue::kDGeluBgrad;
    case CUBLASLT_EPILOGUE_BGRADA:
      return ring::Epilogue::kBgradA;
    case CUBLASLT_EPILOGUE_BGRADB:
      return ring::Epilogue::kBgradB;
    default:
      return ring::Epilogue::kOther;
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
std::optional<compute::Product> PlainProduct(const MatmulDesc& desc, const ring::GemmWork& work) {
  compute::Product product;
  switch (work.epilogue) {
    case ring::Epilogue::kNone:
    case ring::Epilogue::kBias:
      break;
    case ring::Epilogue::kRelu:
    case ring::Epilogue::kReluBias:
      product.activation = compute::Activation::kRelu;
      break;
    case ring::Epilogue::kGelu:
    case ring::Epilogue::kGeluBias:
      product.activation = compute::Activation::kGelu;
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
  return product;
}

compute::ProductMatrix MatrixOf(const void* address, std::uint32_t type, std::uint64_t leading,
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

// What the work computes; nothing when it is not computed.
std::optional<compute::Product> ProductOf(const MatmulDesc& desc, const Layouts& layouts,
                                          const ring::GemmWork& work, const Arguments& in) {
  auto product = PlainProduct(desc, work);
  const bool row_major = layouts.d->order == CUBLASLT_ORDER_ROW;
  if (!product || layouts.c->order != layouts.d->order) return std::nullopt;
  // Only transposition is kept in the work; and a bias runs along D's rows, wherever these lie.
  const bool conjugates = desc.transpose_a == CUBLAS_OP_C || desc.transpose_b == CUBLAS_OP_C;
  const bool biased = (desc.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  if ((conjugates && library::IsComplex(work.type_a)) || (biased && row_major)) return std::nullopt;
  product->m = static_cast<std::int64_t>(work.m);
  product->n = static_cast<std::int64_t>(work.n);
  product->k = static_cast<std::int64_t>(work.k);
  product->batch = static_cast<std::int64_t>(work.batch);
  const auto transpose = [](std::uint32_t operation) {
    return operation == CUBLAS_OP_N ? compute::Transpose::kNo : compute::Transpose::kYes;
  };
  product->transpose_a = transpose(work.transpose_a);
  product->transpose_b = transpose(work.transpose_b);
  product->a = MatrixOf(row_major ? in.b : in.a, work.type_a, work.lda, work.stride_a);
  product->b = MatrixOf(row_major ? in.a : in.b, work.type_b, work.ldb, work.stride_b);
  product->c = MatrixOf(in.c, work.type_c, work.ldc, work.stride_c);
  product->d = MatrixOf(in.d, work.type_d, work.ldd, work.stride_d);
  const bool on_device = desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  const auto scale_type = static_cast<std::uint32_t>(desc.scale_type);
  product->alpha = library::ScalarOf(in.alpha, scale_type, on_device);
  product->beta = library::ScalarOf(in.beta, scale_type, on_device);
  product->rounds_to_tf32 = desc.compute_type == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (biased) {
    if (desc.bias == nullptr || work.batch != 1) return std::nullopt;
    const bool given = desc.bias_type >= 0;
    product->bias = MatrixOf(
        desc.bias, given ? static_cast<std::uint32_t>(desc.bias_type) : work.type_d, work.m, 0);
  }
  return product;
}

}  // namespace

std::expected<ring::GemmWork, cublasStatus_t> Describe(const MatmulDesc& desc, const Layouts& l) {
  if (const auto status = CheckShapes(desc, l); status != CUBLAS_STATUS_SUCCESS) {
    return std::unexpected(status);
  }
  if (!AreTypesSupported(desc, l.a->type, l.b->type, l.d->type, Capability())) {
    return std::unexpected(CUBLAS_STATUS_NOT_SUPPORTED);
  }
  Operand a = ColumnMajor(l.a, desc.transpose_a);
  Operand b = ColumnMajor(l.b, desc.transpose_b);
  ring::GemmWork work{};
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
    const auto product = ProductOf(*desc, layouts, *work, {alpha, a, b, beta, c, d});
    library::AfterProduct(stream, product.value_or(compute::Product{}),
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
