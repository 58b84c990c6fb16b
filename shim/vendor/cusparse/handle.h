// cuSPARSE's handle, its version and its words for errors: what programs ask for when they start
// (JAX, CuPy). Routines on sparse matrices are refused.
#pragma once

#include <cstdint>

#include <cusparse.h>

#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::cusparse {

struct Context : library::Opaque<Context> {
  static constexpr std::uint64_t kMagic = 0x6375535041727331u;
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace handle {

cusparseStatus_t Create(cusparseHandle_t* handle);
cusparseStatus_t Destroy(cusparseHandle_t handle);
cusparseStatus_t SetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t GetStream(cusparseHandle_t handle, cudaStream_t* stream);
cusparseStatus_t SetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t GetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode);
cusparseStatus_t GetVersion(cusparseHandle_t handle, int* version);
cusparseStatus_t GetProperty(libraryPropertyType type, int* value);
// The name of the code in the header; what it says, in words. Never null.
const char* ErrorName(cusparseStatus_t status);
const char* ErrorText(cusparseStatus_t status);

}  // namespace handle
}  // namespace eidolon::shim::cusparse
