#include "shim/vendor/cusolver/routine.h"

#include <algorithm>

#include "shim/vendor/cusolver/handle.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cusolver {

cusolverStatus_t Run(cusolverDnHandle_t handle, const Routine& routine) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (std::any_of(routine.numbers.begin(), routine.numbers.end(), [](auto n) { return n < 0; })) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  const double width = static_cast<double>(library::BitsOf(routine.type)) / 8;
  if (width == 0) return CUSOLVER_STATUS_NOT_SUPPORTED;
  const double scale = static_cast<double>(2 * library::FlopScale(routine.type));
  const gpu::Status status = library::Submit(
      context->stream,
      library::Call{.name = routine.name,
                    .type = routine.type,
                    .flops = static_cast<std::uint64_t>(routine.multiply_adds * scale),
                    .memory_bytes = static_cast<std::uint64_t>(routine.elements * width),
                    .numbers = routine.numbers});
  if (status != gpu::Status::kSuccess) return ToCusolver(status);
  for (const Output& output : routine.outputs) {
    const auto elements = static_cast<std::uint64_t>(std::max<std::int64_t>(output.elements, 0));
    library::NoteWritten(context->stream, output.address, library::BytesOf(routine.type, elements));
  }
  library::NoteZeroed(context->stream, routine.info,
                      static_cast<std::uint64_t>(routine.info_count) * sizeof(int));
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename Int>
cusolverStatus_t TellSize(cusolverDnHandle_t handle, double elements, Int* size) {
  if (Context::Find(handle) == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (size == nullptr || elements < 0) return CUSOLVER_STATUS_INVALID_VALUE;
  *size = static_cast<Int>(std::clamp(elements, 1.0, 2147483647.0));
  return CUSOLVER_STATUS_SUCCESS;
}
template cusolverStatus_t TellSize<int>(cusolverDnHandle_t, double, int*);

cusolverStatus_t TellBytes(cusolverDnHandle_t handle, cudaDataType_t type, double elements,
                           std::size_t* device_bytes, std::size_t* host_bytes) {
  if (Context::Find(handle) == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (device_bytes == nullptr || host_bytes == nullptr || elements < 0) {
    return CUSOLVER_STATUS_INVALID_VALUE;
  }
  *device_bytes = library::BytesOf(type, static_cast<std::uint64_t>(std::max(elements, 1.0)));
  *host_bytes = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace eidolon::shim::cusolver
