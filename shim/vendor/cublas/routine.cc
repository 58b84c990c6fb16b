// Every routine but the GEMMs is described by its counted multiply-adds and the elements that it
// moves, in its own element type: a complex multiply-add is four real ones (FlopScale).
// Matrix-vector and dot routines are GEMMs with one column, so their values come from there. A
// result that the host gets at once cannot be deferred: in host pointer mode the call waits for the
// stream, as cuBLAS does, and answers by the job's policy for unknown values, which is counted like
// a read of unknown bytes. Batched routines overwrite what a table of pointers names; where the
// table is unknown, they may have written anywhere.
#include "shim/vendor/cublas/routine.h"

#include <algorithm>
#include <cstring>

#include "shim/core/session.h"
#include "shim/gpu/report/unknown_read.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/value/pending.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas/pool.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cublas {
namespace {

template <typename T>
void Store(void* address, T value) {
  std::memcpy(address, &value, sizeof(value));
}

// Stores the host's view of a result that was not computed.
void StoreUnknown(const Routine& routine, const Result& result) {
  const core::Session* session = core::Session::Get();
  const bool one = session != nullptr && (session->header().unknown_reads & 0xff) == 1;
  std::memset(result.address, 0, library::BytesOf(result.type, 1));
  gpu::NoteUnknownResult(routine.name, library::BytesOf(result.type, 1));
  if (!one) return;
  switch (result.type) {
    case CUDA_R_32F:
    case CUDA_C_32F:
      return Store(result.address, 1.0f);
    case CUDA_R_64F:
    case CUDA_C_64F:
      return Store(result.address, 1.0);
    case CUDA_R_32I:
      return Store(result.address, std::int32_t{1});
    case CUDA_R_64I:
      return Store(result.address, std::int64_t{1});
    case CUDA_R_16F:
      return Store(result.address, std::uint16_t{0x3c00});
    case CUDA_R_16BF:
      return Store(result.address, std::uint16_t{0x3f80});
    default:
      return;
  }
}

gpu::Status Submit(const Context& context, const Routine& routine) {
  const double scale = static_cast<double>(2 * library::FlopScale(routine.type));
  const double width = static_cast<double>(library::BitsOf(routine.type)) / 8;
  return library::Submit(
      context.stream,
      library::Call{.name = routine.name,
                    .type = routine.type,
                    .flops = static_cast<std::uint64_t>(routine.multiply_adds * scale),
                    .memory_bytes = static_cast<std::uint64_t>(routine.elements * width),
                    .numbers = routine.numbers});
}

// Where the table's pointers are known, so is what the routine overwrites.
void ForgetTargets(const Context& context, const Routine& routine, std::uint64_t bytes) {
  if (routine.output_table == nullptr) return;
  for (std::int64_t i = 0; i < routine.table_entries; ++i) {
    const auto slot = reinterpret_cast<std::uint64_t>(routine.output_table) +
                      static_cast<std::uint64_t>(i) * sizeof(void*);
    std::uint64_t target = 0;
    if (!value::ProcessPending().IsKnown(slot, sizeof(target))) {
      return library::NoteWrittenAnywhere(context.stream);
    }
    value::ProcessStore().Read(slot, &target, sizeof(target));
    library::NoteWritten(context.stream, reinterpret_cast<const void*>(target), bytes);
  }
}

compute::GemmMatrix MatrixOf(const VectorOperand& operand, bool vector) {
  // A step that is not computed with makes the whole GEMM unknown.
  const bool fits = operand.step > 0;
  return {.address = reinterpret_cast<std::uint64_t>(operand.address),
          .type = fits ? library::ElementOf(operand.type) : compute::Element::kNone,
          .leading = operand.step,
          .stride = operand.stride,
          .row_step = vector ? operand.step : 1};
}

// The effect of the routine's work on values.
template <typename Forget>
void AfterRoutine(const Context& context, const Routine& routine, Forget&& forget) {
  if (routine.gemm == nullptr) return forget();
  compute::Gemm gemm = *routine.gemm;
  const bool on_device = context.pointer_mode != CUBLAS_POINTER_MODE_HOST;
  if (routine.alpha == nullptr) {
    gemm.alpha.real = 1;
  } else {
    gemm.alpha = library::ScalarOf(routine.alpha, routine.scale_type, on_device);
  }
  gemm.beta = library::ScalarOf(routine.beta, routine.scale_type, on_device);
  library::AfterGemm(context.stream, gemm, forget);
}

}  // namespace

compute::Gemm GemvAsGemm(cublasOperation_t operation, std::int64_t m, std::int64_t n,
                         const VectorOperand& a, const VectorOperand& x, const VectorOperand& y,
                         std::int64_t batch) {
  const bool plain = operation == CUBLAS_OP_N;
  compute::Gemm gemm{.m = plain ? m : n, .n = 1, .k = plain ? n : m, .batch = batch};
  if (!plain) {
    gemm.transpose_a =
        operation == CUBLAS_OP_C ? compute::Transpose::kConjugate : compute::Transpose::kYes;
  }
  gemm.a = MatrixOf(a, false);
  gemm.b = MatrixOf(x, true);
  gemm.c = gemm.d = MatrixOf(y, true);
  return gemm;
}

compute::Gemm DotAsGemm(std::int64_t n, const VectorOperand& x, const VectorOperand& y) {
  compute::Gemm gemm{.m = 1, .n = 1, .k = n};
  gemm.transpose_a = compute::Transpose::kYes;
  gemm.a = MatrixOf(x, true);
  gemm.b = MatrixOf(y, true);
  return gemm;
}

cublasStatus_t Run(cublasHandle_t handle, const Routine& routine, int size_count) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  bool empty = false;
  for (const std::int64_t* n = routine.numbers.begin(); n != routine.numbers.begin() + size_count;
       ++n) {
    if (*n < 0) return CUBLAS_STATUS_INVALID_VALUE;
    empty |= *n == 0;
  }
  if (empty) return CUBLAS_STATUS_SUCCESS;
  if (!BookPool(*context)) return CUBLAS_STATUS_ALLOC_FAILED;
  const gpu::Status status = Submit(*context, routine);
  if (status == gpu::Status::kSuccess) {
    const auto count = static_cast<std::uint64_t>(routine.output_elements);
    const std::uint64_t bytes = library::BytesOf(routine.type, count);
    AfterRoutine(*context, routine, [&] {
      library::NoteWritten(context->stream, routine.output, bytes);
      ForgetTargets(*context, routine, bytes);
    });
  }
  return ToCublas(status);
}

cublasStatus_t Run(cublasHandle_t handle, const Routine& routine, int size_count,
                   const Strides& strides) {
  if (Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (const Strides::Matrix& matrix : strides.matrices) {
    if (matrix.leading < std::max<std::int64_t>(matrix.rows, 1)) return CUBLAS_STATUS_INVALID_VALUE;
  }
  for (const std::int64_t increment : strides.increments) {
    if (increment == 0) return CUBLAS_STATUS_INVALID_VALUE;
  }
  return Run(handle, routine, size_count);
}

cublasStatus_t RunWithResult(cublasHandle_t handle, const Routine& routine, const Result& result) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (result.address == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (!BookPool(*context)) return CUBLAS_STATUS_ALLOC_FAILED;
  const std::uint64_t bytes = library::BytesOf(result.type, 1);
  if (bytes == 0) return CUBLAS_STATUS_NOT_SUPPORTED;

  const gpu::Status status = Submit(*context, routine);
  if (status != gpu::Status::kSuccess) return ToCublas(status);
  if (context->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) {
    Routine routine_with_target = routine;
    compute::Gemm gemm;
    if (routine.gemm != nullptr) {
      gemm = *routine.gemm;
      gemm.d = {.address = reinterpret_cast<std::uint64_t>(result.address),
                .type = library::ElementOf(result.type),
                .leading = 1};
      routine_with_target.gemm = &gemm;
    }
    AfterRoutine(*context, routine_with_target,
                 [&] { library::NoteWritten(context->stream, result.address, bytes); });
    return CUBLAS_STATUS_SUCCESS;
  }
  const gpu::Status waited = gpu::SynchronizeStream(context->stream);
  StoreUnknown(routine, result);
  return ToCublas(waited);
}

void NoteOverwritten(cublasHandle_t handle, const int* integers, std::int64_t count) {
  const Context* context = Context::Find(handle);
  if (context == nullptr || integers == nullptr) return;
  library::NoteWritten(context->stream, integers, static_cast<std::uint64_t>(count) * sizeof(int));
}

void ReportSuccess(cublasHandle_t handle, int* device_info, std::int64_t count) {
  const Context* context = Context::Find(handle);
  if (context == nullptr || count <= 0) return;
  library::NoteZeroed(context->stream, device_info,
                      static_cast<std::uint64_t>(count) * sizeof(int));
}

}  // namespace eidolon::shim::cublas
