// Looking up driver functions by name (cuGetProcAddress).
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::entry_point {

CUresult Get(const char* symbol, void** function, int cuda_version, cuuint64_t flags,
             CUdriverProcAddressQueryResult* status);
// The first version told no status: a missing function is an error.
CUresult GetOrFail(const char* symbol, void** function, int cuda_version, cuuint64_t flags);

}  // namespace eidolon::shim::cuda_driver::entry_point
