// Making and destroying cuDNN's descriptors: the same for each of their types.
#pragma once

#include <cudnn.h>

namespace eidolon::shim::cudnn {

// Makes a descriptor, a library::Opaque, and hands out its handle.
template <typename Descriptor, typename Handle>
cudnnStatus_t Give(Handle* handle) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  Descriptor::Make(handle);
  return CUDNN_STATUS_SUCCESS;
}

template <typename Descriptor, typename Handle>
cudnnStatus_t Take(Handle handle) {
  // Destroying nothing succeeds, as in the real library.
  if (handle == nullptr) return CUDNN_STATUS_SUCCESS;
  return Descriptor::Destroy(handle) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

}  // namespace eidolon::shim::cudnn
