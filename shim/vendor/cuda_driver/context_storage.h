// What libraries keep beside a context: a statically linked CUDA runtime finds its own state for
// the current context here. One store for the process; all functions are thread safe and noexcept.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::context_storage {

// Called with the context, the key and the value when the context ends.
using AtEnd = void (*)(CUcontext, void* key, void* value);

// Keeps `value` under (context, key), in place of what was there. A null context is the current
// one. CUDA_ERROR_INVALID_CONTEXT when there is none.
CUresult Put(CUcontext context, void* key, void* value, AtEnd at_end) noexcept;
// Forgets without calling AtEnd; succeeds when there was nothing.
CUresult Remove(CUcontext context, void* key) noexcept;
// CUDA_ERROR_INVALID_HANDLE when nothing was put.
CUresult Get(void** value, CUcontext context, void* key) noexcept;

// The context ends: calls what was left to be called, and forgets. By the thread that ends it.
void End(CUcontext context) noexcept;

}  // namespace eidolon::shim::cuda_driver::context_storage
