// A handle is a stream, and option objects hold nothing, since options change how a routine
// converges and not what it costs here. They are objects all the same: a program creates, passes
// and destroys them, and a handle that was never made has to be refused. Creating a handle needs a
// session with a GPU, as the real library needs a device.
#include "shim/vendor/cusolver/handle.h"

#include "shim/core/session.h"

namespace eidolon::shim::cusolver {
namespace {

template <typename Object, typename Handle>
cusolverStatus_t Give(Handle* handle) {
  if (handle == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  Object::Make(handle);
  return CUSOLVER_STATUS_SUCCESS;
}

template <typename Object, typename Handle>
cusolverStatus_t Take(Handle handle) {
  return Object::Destroy(handle) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INVALID_VALUE;
}

}  // namespace

cusolverStatus_t ToCusolver(gpu::Status status) {
  switch (status) {
    case gpu::Status::kSuccess:
      return CUSOLVER_STATUS_SUCCESS;
    case gpu::Status::kInvalidValue:
    case gpu::Status::kInvalidHandle:
      return CUSOLVER_STATUS_INVALID_VALUE;
    case gpu::Status::kNotSupported:
      return CUSOLVER_STATUS_NOT_SUPPORTED;
    case gpu::Status::kOutOfMemory:
      return CUSOLVER_STATUS_ALLOC_FAILED;
    default:
      return CUSOLVER_STATUS_EXECUTION_FAILED;
  }
}

namespace handle {

cusolverStatus_t Create(cusolverDnHandle_t* handle) {
  const core::Session* session = core::Session::Get();
  if (session == nullptr || session->device_count() == 0) return CUSOLVER_STATUS_NOT_INITIALIZED;
  return Give<Context>(handle);
}
cusolverStatus_t Destroy(cusolverDnHandle_t handle) {
  return Context::Destroy(handle) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t SetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  context->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t GetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  const Context* context = Context::Find(handle);
  if (context == nullptr) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (stream == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *stream = context->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t GetVersion(int* version) {
  if (version == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t GetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUSOLVER_VER_MAJOR;
      return CUSOLVER_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUSOLVER_VER_MINOR;
      return CUSOLVER_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUSOLVER_VER_PATCH;
      return CUSOLVER_STATUS_SUCCESS;
  }
  return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t CreateParameters(cusolverDnParams_t* parameters) {
  return Give<Parameters>(parameters);
}
cusolverStatus_t DestroyParameters(cusolverDnParams_t parameters) {
  return Take<Parameters>(parameters);
}
cusolverStatus_t CreateSvdOptions(gesvdjInfo_t* options) { return Give<SvdOptions>(options); }
cusolverStatus_t DestroySvdOptions(gesvdjInfo_t options) { return Take<SvdOptions>(options); }
cusolverStatus_t CreateEigenOptions(syevjInfo_t* options) { return Give<EigenOptions>(options); }
cusolverStatus_t DestroyEigenOptions(syevjInfo_t options) { return Take<EigenOptions>(options); }

}  // namespace handle
}  // namespace eidolon::shim::cusolver
