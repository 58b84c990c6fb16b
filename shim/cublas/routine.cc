#include "shim/cublas/routine.h"

#include <cstring>

#include "shim/core/session.h"
#include "shim/cublas/handle.h"
#include "shim/cublas/pool.h"
#include "shim/gpu/stream.h"
#include "shim/gpu/unknown_read.h"
#include "shim/library/work.h"
#include "shim/value/pending.h"

namespace eidolon::shim::cublas {
namespace {

template <typename T>
void Store(void* address, T value) {
  std::memcpy(address, &value, sizeof(value));
}

// What the host sees of a result that nobody computed.
void StoreUnknown(const Result& result) {
  const core::Session* session = core::Session::Get();
  const bool one = session != nullptr && (session->header().unknown_reads & 0xff) == 1;
  std::memset(result.address, 0, library::BytesOf(result.type, 1));
  gpu::NoteUnknownRead(library::BytesOf(result.type, 1));
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

}  // namespace

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
    library::NoteWritten(context->stream, routine.output, bytes);
    ForgetTargets(*context, routine, bytes);
  }
  return ToCublas(status);
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
    library::NoteWritten(context->stream, result.address, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  const gpu::Status waited = gpu::SynchronizeStream(context->stream);
  StoreUnknown(result);
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
