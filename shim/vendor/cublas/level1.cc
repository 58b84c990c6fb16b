#include "shim/vendor/cublas/level1.h"

#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::cublas::level1 {

cublasStatus_t RunOnBoth(cublasHandle_t handle, const Routine& routine, const void* x,
                         std::int64_t x_elements) {
  const cublasStatus_t status = Run(handle, routine, 1);
  if (status == CUBLAS_STATUS_SUCCESS) {
    library::NoteWritten(Context::Find(handle)->stream, x,
                         library::BytesOf(routine.type, static_cast<std::uint64_t>(x_elements)));
  }
  return status;
}

}  // namespace eidolon::shim::cublas::level1
