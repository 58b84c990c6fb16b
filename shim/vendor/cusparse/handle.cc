// A framework that cannot create this handle does not start, although most programs never touch a
// sparse matrix. So only the handle works. What is asked of a handle is checked in one place, With:
// first the handle, then the output. A code's text is the program's only explanation, so that of
// NOT_SUPPORTED says that the GPU is simulated.
#include "shim/vendor/cusparse/handle.h"

#include <algorithm>
#include <array>

#include "shim/core/session.h"

namespace eidolon::shim::cusparse::handle {
namespace {

struct ErrorWords {
  cusparseStatus_t status;
  const char* name;
  const char* text;
};
constexpr std::array<ErrorWords, 12> kErrors = {{
    {CUSPARSE_STATUS_SUCCESS, "CUSPARSE_STATUS_SUCCESS", "success"},
    {CUSPARSE_STATUS_NOT_INITIALIZED, "CUSPARSE_STATUS_NOT_INITIALIZED", "initialization error"},
    {CUSPARSE_STATUS_ALLOC_FAILED, "CUSPARSE_STATUS_ALLOC_FAILED", "out of memory"},
    {CUSPARSE_STATUS_INVALID_VALUE, "CUSPARSE_STATUS_INVALID_VALUE", "invalid value"},
    {CUSPARSE_STATUS_ARCH_MISMATCH, "CUSPARSE_STATUS_ARCH_MISMATCH", "architecture mismatch"},
    {CUSPARSE_STATUS_MAPPING_ERROR, "CUSPARSE_STATUS_MAPPING_ERROR", "mapping error"},
    {CUSPARSE_STATUS_EXECUTION_FAILED, "CUSPARSE_STATUS_EXECUTION_FAILED", "kernel launch failure"},
    {CUSPARSE_STATUS_INTERNAL_ERROR, "CUSPARSE_STATUS_INTERNAL_ERROR", "internal error"},
    {CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
     "matrix type not supported"},
    {CUSPARSE_STATUS_ZERO_PIVOT, "CUSPARSE_STATUS_ZERO_PIVOT", "zero pivot"},
    {CUSPARSE_STATUS_NOT_SUPPORTED, "CUSPARSE_STATUS_NOT_SUPPORTED",
     "not supported on a simulated GPU"},
    {CUSPARSE_STATUS_INSUFFICIENT_RESOURCES, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES",
     "insufficient resources"},
}};

const ErrorWords* Find(cusparseStatus_t status) {
  const auto found = std::ranges::find(kErrors, status, &ErrorWords::status);
  return found == kErrors.end() ? nullptr : &*found;
}

// Calls answer(context) for a living handle when `output` is given.
template <typename Answer>
cusparseStatus_t With(cusparseHandle_t handle, const void* output, Answer&& answer) {
  Context* context = Context::Find(handle);
  if (context == nullptr) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (output == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  answer(*context);
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

cusparseStatus_t Create(cusparseHandle_t* handle) {
  const core::Session* session = core::Session::Get();
  if (session == nullptr || session->device_count() == 0) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (handle == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  Context::Make(handle);
  return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t Destroy(cusparseHandle_t handle) {
  return Context::Destroy(handle) ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_NOT_INITIALIZED;
}

cusparseStatus_t SetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return With(handle, &stream, [&](Context& context) { context.stream = stream; });
}

cusparseStatus_t GetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  return With(handle, stream, [&](const Context& context) { *stream = context.stream; });
}

cusparseStatus_t SetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  return With(handle, &mode, [&](Context& context) { context.pointer_mode = mode; });
}

cusparseStatus_t GetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return With(handle, mode, [&](const Context& context) { *mode = context.pointer_mode; });
}

cusparseStatus_t GetVersion(cusparseHandle_t handle, int* version) {
  return With(handle, version, [&](const Context&) { *version = CUSPARSE_VERSION; });
}

cusparseStatus_t GetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUSPARSE_VER_MAJOR;
      return CUSPARSE_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUSPARSE_VER_MINOR;
      return CUSPARSE_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUSPARSE_VER_PATCH;
      return CUSPARSE_STATUS_SUCCESS;
  }
  return CUSPARSE_STATUS_INVALID_VALUE;
}

const char* ErrorName(cusparseStatus_t status) {
  const ErrorWords* words = Find(status);
  return words == nullptr ? "unrecognized error code" : words->name;
}

const char* ErrorText(cusparseStatus_t status) {
  const ErrorWords* words = Find(status);
  return words == nullptr ? "unrecognized error code" : words->text;
}

}  // namespace eidolon::shim::cusparse::handle
