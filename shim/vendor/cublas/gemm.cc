// A call is checked in a fixed order, since the first failure decides the code: the handle, sizes
// and strides, scalars, then the combination of types, from the table of cublasGemmEx's
// documentation. Empty results succeed before any work. What takes time is described to the engine
// as one workload::Gemm; what it does to bytes is either computed, when it is small, or forgotten.
//
// Two things change the time without being in the call: the handle's math mode, which lets single
// precision use faster formats, and whether beta is zero, for then C is not read. A beta on the
// device counts as zero only if its bytes are known.
#include "shim/vendor/cublas/gemm.h"

#include <algorithm>
#include <cstring>

#include "services/base/sim_time.h"
#include "services/contract/workload/work.h"
#include "shim/value/pending.h"
#include "shim/value/store.h"
#include "shim/vendor/cublas/grouped_gemm.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas/pool.h"
#include "shim/vendor/library/gemm.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cublas::gemm {
namespace {

bool IsPedanticOrPlain(cublasComputeType_t type, cublasComputeType_t plain) {
  return type == plain || static_cast<int>(type) == static_cast<int>(plain) + 1;
}

bool IsSingle(cublasComputeType_t type) {
  switch (type) {
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9:
      return true;
    default:
      return false;
  }
}

// The table of cublasGemmEx's documentation.
bool IsSupported(const Problem& p) {
  if (p.a.type != p.b.type) return false;
  const cudaDataType_t in = p.a.type;
  const cudaDataType_t out = p.c.type;
  if (IsPedanticOrPlain(p.compute_type, CUBLAS_COMPUTE_16F)) {
    return in == CUDA_R_16F && out == CUDA_R_16F;
  }
  if (IsPedanticOrPlain(p.compute_type, CUBLAS_COMPUTE_32I)) {
    return in == CUDA_R_8I && out == CUDA_R_32I;
  }
  if (IsPedanticOrPlain(p.compute_type, CUBLAS_COMPUTE_64F) ||
      p.compute_type == CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT) {
    return in == out && (in == CUDA_R_64F || in == CUDA_C_64F);
  }
  if (!IsSingle(p.compute_type)) return false;
  switch (in) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return out == in || out == CUDA_R_32F;
    case CUDA_R_8I:
    case CUDA_R_32F:
      return out == CUDA_R_32F;
    case CUDA_C_8I:
    case CUDA_C_32F:
      return out == CUDA_C_32F;
    default:
      return false;
  }
}

cudaDataType_t ScaleTypeOf(const Problem& p) {
  if (IsPedanticOrPlain(p.compute_type, CUBLAS_COMPUTE_16F)) return CUDA_R_16F;
  if (IsPedanticOrPlain(p.compute_type, CUBLAS_COMPUTE_32I)) return CUDA_R_32I;
  const bool complex = library::IsComplex(p.a.type);
  if (IsSingle(p.compute_type)) return complex ? CUDA_C_32F : CUDA_R_32F;
  return complex ? CUDA_C_64F : CUDA_R_64F;
}

// A scalar is zero only when it is known to be: an unknown one on the device counts as not zero.
bool IsZero(const Context& context, const void* scalar, cudaDataType_t type) {
  if (scalar == nullptr) return false;
  unsigned char bytes[16] = {};
  const std::size_t size = library::BytesOf(type, 1);
  if (context.pointer_mode == CUBLAS_POINTER_MODE_HOST) {
    std::memcpy(bytes, scalar, size);
  } else {
    const auto address = reinterpret_cast<std::uint64_t>(scalar);
    if (!value::ProcessPending().IsKnown(address, size)) return false;
    value::ProcessStore().Read(address, bytes, size);
  }
  return std::all_of(bytes, bytes + size, [](unsigned char byte) { return byte == 0; });
}

// No program has a matrix that spans more; what the real library says of one is not known, as its
// kernel would leave the memory of any device.
constexpr base::Wide kSpanMax = base::Wide{1} << 47;

bool IsCountable(std::int64_t columns, const Operand& operand, std::int64_t batch) {
  base::Wide elements = static_cast<base::Wide>(std::max<std::int64_t>(columns, 0)) *
                        static_cast<base::Wide>(operand.leading);
  if (batch > 1 && operand.stride > 0) {
    elements += static_cast<base::Wide>(batch - 1) * static_cast<base::Wide>(operand.stride);
  }
  return elements <= kSpanMax;
}

bool HasValidSizes(const Problem& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return false;
  if (p.a.leading < 1 || p.b.leading < 1 || p.c.leading < 1) return false;
  const bool countable = IsCountable(p.transpose_a == CUBLAS_OP_N ? p.k : p.m, p.a, p.batch) &&
                         IsCountable(p.transpose_b == CUBLAS_OP_N ? p.n : p.k, p.b, p.batch) &&
                         IsCountable(p.n, p.c, p.batch);
  if (!countable) return false;
  const auto at_least = [](std::int64_t rows) { return std::max<std::int64_t>(rows, 1); };
  return p.a.leading >= at_least(p.transpose_a == CUBLAS_OP_N ? p.m : p.k) &&
         p.b.leading >= at_least(p.transpose_b == CUBLAS_OP_N ? p.k : p.n) &&
         p.c.leading >= at_least(p.m);
}

// The math mode of the handle lets single-precision GEMMs use faster formats.
cublasComputeType_t EffectiveComputeType(const Context& context, const Problem& p) {
  const auto mode =
      static_cast<int>(context.math_mode) & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  if (p.compute_type != CUBLAS_COMPUTE_32F) return p.compute_type;
  if (p.a.type != CUDA_R_32F && p.a.type != CUDA_C_32F) return p.compute_type;
  switch (mode) {
    case CUBLAS_TF32_TENSOR_OP_MATH:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case CUBLAS_TENSOR_OP_MATH:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case CUBLAS_PEDANTIC_MATH:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
    case CUBLAS_FP32_EMULATED_BF16X9_MATH:
      return CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
    default:
      return p.compute_type;
  }
}

void ForgetOutput(const Context& context, const Problem& p) {
  const auto matrix = static_cast<std::uint64_t>((p.n - 1) * p.c.leading + p.m);
  if (!p.pointer_array) {
    const auto all =
        matrix + static_cast<std::uint64_t>((p.batch - 1) * std::max<std::int64_t>(p.c.stride, 0));
    library::NoteWritten(context.stream, p.c.address, library::BytesOf(p.c.type, all));
    return;
  }
  // The pointers live on the device; where they are known, so is what the GEMM overwrites.
  for (std::int64_t i = 0; i < p.batch; ++i) {
    const auto slot =
        reinterpret_cast<std::uint64_t>(p.c.address) + static_cast<std::uint64_t>(i) * 8;
    std::uint64_t target = 0;
    if (!value::ProcessPending().IsKnown(slot, sizeof(target))) {
      return library::NoteWrittenAnywhere(context.stream);
    }
    value::ProcessStore().Read(slot, &target, sizeof(target));
    library::NoteWritten(context.stream, reinterpret_cast<const void*>(target),
                         library::BytesOf(p.c.type, matrix));
  }
}

compute::Transpose TransposeOf(cublasOperation_t operation) {
  if (operation == CUBLAS_OP_N) return compute::Transpose::kNo;
  return operation == CUBLAS_OP_C ? compute::Transpose::kConjugate : compute::Transpose::kYes;
}

compute::GemmMatrix MatrixOf(const Operand& operand) {
  return {.address = reinterpret_cast<std::uint64_t>(operand.address),
          .type = library::ElementOf(operand.type),
          .leading = operand.leading,
          .stride = operand.stride};
}

compute::Gemm GemmOf(const Context& context, const Problem& p) {
  const bool on_device = context.pointer_mode != CUBLAS_POINTER_MODE_HOST;
  const cudaDataType_t scale_type = ScaleTypeOf(p);
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .batch = p.batch,
          .transpose_a = TransposeOf(p.transpose_a),
          .transpose_b = TransposeOf(p.transpose_b),
          .a = MatrixOf(p.a),
          .b = MatrixOf(p.b),
          .c = MatrixOf(p.c),
          .d = MatrixOf(p.c),
          .alpha = library::ScalarOf(p.alpha, scale_type, on_device),
          .beta = library::ScalarOf(p.beta, scale_type, on_device),
          .pointer_array = p.pointer_array,
          .rounds_to_tf32 = EffectiveComputeType(context, p) == CUBLAS_COMPUTE_32F_FAST_TF32};
}

workload::Gemm WorkOf(const Context& context, const Problem& p) {
  workload::Gemm work{};
  work.m = static_cast<std::uint64_t>(p.m);
  work.n = static_cast<std::uint64_t>(p.n);
  work.k = static_cast<std::uint64_t>(p.k);
  work.batch = static_cast<std::uint64_t>(p.batch);
  work.lda = static_cast<std::uint64_t>(p.a.leading);
  work.ldb = static_cast<std::uint64_t>(p.b.leading);
  work.ldc = work.ldd = static_cast<std::uint64_t>(p.c.leading);
  work.stride_a = static_cast<std::uint64_t>(p.a.stride);
  work.stride_b = static_cast<std::uint64_t>(p.b.stride);
  work.stride_c = work.stride_d = static_cast<std::uint64_t>(p.c.stride);
  work.type_a = p.a.type;
  work.type_b = p.b.type;
  work.type_c = work.type_d = p.c.type;
  work.compute_type = EffectiveComputeType(context, p);
  work.transpose_a = p.transpose_a;
  work.transpose_b = p.transpose_b;
  work.beta_zero = IsZero(context, p.beta, ScaleTypeOf(p)) ? 1 : 0;
  work.pointer_array = p.pointer_array ? 1 : 0;
  return work;
}

}  // namespace

cublasComputeType_t ComputeTypeOf(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_16F:
      return CUBLAS_COMPUTE_16F;
    case CUDA_R_64F:
    case CUDA_C_64F:
      return CUBLAS_COMPUTE_64F;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

cublasStatus_t Run(cublasHandle_t handle, const Problem& problem) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!HasValidSizes(problem)) return CUBLAS_STATUS_INVALID_VALUE;
  if (problem.alpha == nullptr || problem.beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!IsSupported(problem)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return CUBLAS_STATUS_SUCCESS;
  if (!BookPool(*context)) return CUBLAS_STATUS_ALLOC_FAILED;

  const gpu::Status status = library::Submit(context->stream, WorkOf(*context, problem));
  if (status == gpu::Status::kSuccess) {
    library::AfterGemm(context->stream, GemmOf(*context, problem),
                       [&] { ForgetOutput(*context, problem); });
  }
  return ToCublas(status);
}

// Groups of different sizes are one work with the sum of their operations and bytes.
cublasStatus_t RunGrouped(cublasHandle_t handle, const GroupTypes& types, int count,
                          Group (*group)(const void* source, int index), const void* source) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  std::int64_t gemms = 0;
  for (int i = 0; i < count; ++i) {
    const Group g = group(source, i);
    if (g.m < 0 || g.n < 0 || g.k < 0 || g.size < 0) return CUBLAS_STATUS_INVALID_VALUE;
    const auto m = static_cast<std::uint64_t>(g.m);
    const auto n = static_cast<std::uint64_t>(g.n);
    const auto k = static_cast<std::uint64_t>(g.k);
    const auto size = static_cast<std::uint64_t>(g.size);
    flops += size * 2 * m * n * k * library::FlopScale(types.a);
    bytes += size * (library::BytesOf(types.a, m * k) + library::BytesOf(types.b, k * n) +
                     library::BytesOf(types.c, m * n));
    gemms += g.size;
  }
  if (gemms == 0) return CUBLAS_STATUS_SUCCESS;
  if (!BookPool(*context)) return CUBLAS_STATUS_ALLOC_FAILED;
  const gpu::Status status = library::Submit(
      context->stream, library::Call{.name = "cublas.gemm_grouped",
                                     .type = types.a,
                                     .flops = flops,
                                     .memory_bytes = bytes,
                                     .numbers = {count, gemms, types.compute_type}});
  if (status == gpu::Status::kSuccess) library::NoteWrittenAnywhere(context->stream);
  return ToCublas(status);
}

}  // namespace eidolon::shim::cublas::gemm
