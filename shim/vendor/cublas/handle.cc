// The handle only stores what calls made through it will need; no GPU memory belongs to it before
// the first work (pool.h). Defaults are cuBLAS's own, because programs read them back. Setting the
// stream resets the workspace, as documented, so a program that sets both has to do so in this
// order. The texts of the codes are cuBLAS's, which programs print.
#include "shim/vendor/cublas/handle.h"

#include <cuda_runtime_api.h>

#include "shim/core/session.h"

namespace eidolon::shim::cublas {

cublasStatus_t ToCublas(gpu::Status status) {
  switch (status) {
    case gpu::Status::kSuccess:
      return CUBLAS_STATUS_SUCCESS;
    case gpu::Status::kInvalidValue:
    case gpu::Status::kInvalidHandle:
      return CUBLAS_STATUS_INVALID_VALUE;
    case gpu::Status::kNotSupported:
      return CUBLAS_STATUS_NOT_SUPPORTED;
    case gpu::Status::kOutOfMemory:
      return CUBLAS_STATUS_ALLOC_FAILED;
    default:
      return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

namespace handle {
namespace {

template <typename T>
cublasStatus_t Get(cublasHandle_t handle, T Context::*field, T* value) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *value = context->*field;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t Set(cublasHandle_t handle, T Context::*field, T value, bool valid = true) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  context->*field = value;
  return CUBLAS_STATUS_SUCCESS;
}

struct Wording {
  cublasStatus_t status;
  const char* name;
  const char* text;
};
constexpr Wording kWordings[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE",
     "an unsupported value or parameter was passed to the function"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the architecture of the device"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
     "an access to GPU memory space failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the function failed to launch on the GPU"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED",
     "the functionality requested is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR",
     "the functionality requested requires some license"},
};

}  // namespace

cublasStatus_t Create(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  const core::Session* session = core::Session::Get();
  if (session == nullptr || session->device_count() == 0) return CUBLAS_STATUS_NOT_INITIALIZED;
  Context::Make(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Destroy(cublasHandle_t handle) {
  return Context::Destroy(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t GetVersion(cublasHandle_t handle, int* version) {
  // JAX asks before it has a handle.
  if (handle != nullptr && Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUBLAS_VER_MAJOR;
      return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUBLAS_VER_MINOR;
      return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUBLAS_VER_PATCH;
      return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

std::size_t GetCudartVersion() { return CUDART_VERSION; }

cublasStatus_t SetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (reinterpret_cast<std::uint64_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  context->workspace = workspace;
  context->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetStream(cublasHandle_t handle, cudaStream_t stream) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  context->stream = stream;
  // Setting the stream resets the workspace to the library's pool, as documented.
  context->workspace = nullptr;
  context->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetStream(cublasHandle_t handle, cudaStream_t* stream) {
  return Get(handle, &Context::stream, stream);
}

cublasStatus_t SetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return Set(handle, &Context::pointer_mode, mode,
             mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
}
cublasStatus_t GetPointerMode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return Get(handle, &Context::pointer_mode, mode);
}

cublasStatus_t SetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  return Set(handle, &Context::atomics_mode, mode);
}
cublasStatus_t GetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return Get(handle, &Context::atomics_mode, mode);
}

cublasStatus_t SetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return Set(handle, &Context::math_mode, mode);
}
cublasStatus_t GetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  return Get(handle, &Context::math_mode, mode);
}

cublasStatus_t SetSmCountTarget(cublasHandle_t handle, int count) {
  return Set(handle, &Context::sm_count_target, count, count >= 0);
}
cublasStatus_t GetSmCountTarget(cublasHandle_t handle, int* count) {
  return Get(handle, &Context::sm_count_target, count);
}

cublasStatus_t SetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t strategy) {
  return Set(handle, &Context::emulation_strategy, strategy);
}
cublasStatus_t GetEmulationStrategy(cublasHandle_t handle, cublasEmulationStrategy_t* strategy) {
  return Get(handle, &Context::emulation_strategy, strategy);
}

const char* GetStatusName(cublasStatus_t status) {
  for (const Wording& wording : kWordings) {
    if (wording.status == status) return wording.name;
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* GetStatusString(cublasStatus_t status) {
  for (const Wording& wording : kWordings) {
    if (wording.status == status) return wording.text;
  }
  return "unknown status";
}

}  // namespace handle
}  // namespace eidolon::shim::cublas
