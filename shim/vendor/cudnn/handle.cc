// A cuDNN handle is a stream. Failures leave a sentence for the thread's next
// cudnnGetLastErrorString, as the real library does from version 9 on. Types are translated to
// CUDA's, the numbering that works have; a number without a counterpart gets an invalid one and is
// refused where a shape is built. Two deprecated vector types, which the headers no longer name,
// still have their numbers.
#include "shim/vendor/cudnn/handle.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "shim/core/session.h"

namespace eidolon::shim::cudnn {
namespace {

thread_local std::string last_error;

struct Wording {
  cudnnStatus_t status;
  const char* name;
};
#define WORDING(name) \
  { name, #name }
constexpr Wording kWordings[] = {
    WORDING(CUDNN_STATUS_SUCCESS),
    WORDING(CUDNN_STATUS_NOT_INITIALIZED),
    WORDING(CUDNN_STATUS_BAD_PARAM),
    WORDING(CUDNN_STATUS_BAD_PARAM_NULL_POINTER),
    WORDING(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED),
    WORDING(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND),
    WORDING(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT),
    WORDING(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH),
    WORDING(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE),
    WORDING(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE),
    WORDING(CUDNN_STATUS_NOT_SUPPORTED),
    WORDING(CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN),
    WORDING(CUDNN_STATUS_NOT_SUPPORTED_SHAPE),
    WORDING(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE),
    WORDING(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH),
    WORDING(CUDNN_STATUS_INTERNAL_ERROR),
    WORDING(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED),
    WORDING(CUDNN_STATUS_EXECUTION_FAILED),
};
#undef WORDING

}  // namespace

cudnnStatus_t ToCudnn(gpu::Status status) {
  switch (status) {
    case gpu::Status::kSuccess:
      return CUDNN_STATUS_SUCCESS;
    case gpu::Status::kInvalidValue:
    case gpu::Status::kInvalidHandle:
      return CUDNN_STATUS_BAD_PARAM;
    case gpu::Status::kNotSupported:
      return CUDNN_STATUS_NOT_SUPPORTED;
    case gpu::Status::kOutOfMemory:
      return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    default:
      return CUDNN_STATUS_EXECUTION_FAILED;
  }
}

std::uint32_t CudaTypeOf(int type) {
  switch (type) {
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return CUDA_R_32F;
    case CUDNN_DATA_DOUBLE:
      return CUDA_R_64F;
    case CUDNN_DATA_HALF:
      return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16:
      return CUDA_R_16BF;
    case CUDNN_DATA_INT8:
    case 5:  // INT8x4 and INT8x32, deprecated: the vector is a dimension of its own.
    case 8:
      return CUDA_R_8I;
    case CUDNN_DATA_UINT8:
    case 7:  // UINT8x4, deprecated.
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_BYTE_BOOLEAN:
      return CUDA_R_8U;
    case CUDNN_DATA_INT32:
      return CUDA_R_32I;
    case CUDNN_DATA_UINT32:
      return CUDA_R_32U;
    case CUDNN_DATA_INT64:
      return CUDA_R_64I;
    case CUDNN_DATA_FP8_E4M3:
      return CUDA_R_8F_E4M3;
    case CUDNN_DATA_FP8_E5M2:
      return CUDA_R_8F_E5M2;
    case CUDNN_DATA_FP8_E8M0:
      return CUDA_R_8F_UE8M0;
    case CUDNN_DATA_FP4_E2M1:
      return CUDA_R_4F_E2M1;
    case CUDNN_DATA_INT4:
      return CUDA_R_4I;
    case CUDNN_DATA_UINT4:
      return CUDA_R_4U;
    case CUDNN_DATA_COMPLEX_FP32:
      return CUDA_C_32F;
    case CUDNN_DATA_COMPLEX_FP64:
      return CUDA_C_64F;
    default:
      return ~0u;
  }
}

cudnnStatus_t Fail(cudnnStatus_t status, const char* sentence) {
  last_error = sentence;
  return status;
}

namespace handle {

cudnnStatus_t Create(cudnnHandle_t* handle) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  *handle = nullptr;
  const core::Session* session = core::Session::Get();
  if (session == nullptr || session->device_count() == 0) {
    return Fail(CUDNN_STATUS_NOT_INITIALIZED, "no emulated GPU");
  }
  Context::Make(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Destroy(cudnnHandle_t handle) {
  return Context::Destroy(handle) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t SetStream(cudnnHandle_t handle, cudaStream_t stream) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUDNN_STATUS_BAD_PARAM;
  context->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t GetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  const Context* context = Context::Find(handle);
  if (context == nullptr || stream == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *stream = context->stream;
  return CUDNN_STATUS_SUCCESS;
}

std::size_t GetVersion() { return CUDNN_VERSION; }
// The newest compute capability that this version knows: major x 100 + minor x 10.
std::size_t GetMaxDeviceVersion() { return 1210; }
std::size_t GetCudartVersion() { return CUDART_VERSION; }

cudnnStatus_t GetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUDNN_MAJOR;
      return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUDNN_MINOR;
      return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUDNN_PATCHLEVEL;
      return CUDNN_STATUS_SUCCESS;
  }
  return CUDNN_STATUS_BAD_PARAM;
}

const char* GetErrorString(cudnnStatus_t status) {
  for (const Wording& wording : kWordings) {
    if (wording.status == status) return wording.name;
  }
  return "CUDNN_UNKNOWN_STATUS";
}

void GetLastErrorString(char* message, std::size_t bytes) {
  if (message == nullptr || bytes == 0) return;
  const std::size_t length = std::min(bytes - 1, last_error.size());
  std::memcpy(message, last_error.data(), length);
  message[length] = '\0';
}

}  // namespace handle
}  // namespace eidolon::shim::cudnn
