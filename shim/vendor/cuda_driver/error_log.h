// The driver's error log (cuLogs...). Nothing is written to it: refused calls are reported by name
// instead.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace eidolon::shim::cuda_driver::error_log {

// The callback is never called.
CUresult RegisterCallback(CUlogsCallback callback, void* user_data, CUlogsCallbackHandle* handle);
CUresult UnregisterCallback(CUlogsCallbackHandle handle);
// The log's end, which is also its beginning.
CUresult GetCurrent(CUlogIterator* iterator, unsigned flags);
CUresult DumpToMemory(CUlogIterator* iterator, char* buffer, std::size_t* size, unsigned flags);

}  // namespace eidolon::shim::cuda_driver::error_log
