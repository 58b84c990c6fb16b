// The CUDA driver, loaded at run time: a machine without one runs everything but this. The table
// has only what replaying needs, under the names that the library exports.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "services/base/error.h"

namespace eidolon::timing::replay {

// Row: exported name, declaration in cuda.h.
#define EIDOLON_DRIVER_CALLS(ROW)                               \
  ROW(cuInit, cuInit)                                           \
  ROW(cuDriverGetVersion, cuDriverGetVersion)                   \
  ROW(cuGetErrorName, cuGetErrorName)                           \
  ROW(cuDeviceGet, cuDeviceGet)                                 \
  ROW(cuDeviceGetCount, cuDeviceGetCount)                       \
  ROW(cuDeviceGetName, cuDeviceGetName)                         \
  ROW(cuDeviceGetUuid_v2, cuDeviceGetUuid_v2)                   \
  ROW(cuDeviceTotalMem_v2, cuDeviceTotalMem_v2)                 \
  ROW(cuDeviceGetAttribute, cuDeviceGetAttribute)               \
  ROW(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)       \
  ROW(cuCtxSetCurrent, cuCtxSetCurrent)                         \
  ROW(cuMemGetInfo_v2, cuMemGetInfo_v2)                         \
  ROW(cuMemAlloc_v2, cuMemAlloc_v2)                             \
  ROW(cuMemFree_v2, cuMemFree_v2)                               \
  ROW(cuMemHostAlloc, cuMemHostAlloc)                           \
  ROW(cuMemFreeHost, cuMemFreeHost)                             \
  ROW(cuMemAddressReserve, cuMemAddressReserve)                 \
  ROW(cuMemAddressFree, cuMemAddressFree)                       \
  ROW(cuMemCreate, cuMemCreate)                                 \
  ROW(cuMemRelease, cuMemRelease)                               \
  ROW(cuMemMap, cuMemMap)                                       \
  ROW(cuMemUnmap, cuMemUnmap)                                   \
  ROW(cuMemSetAccess, cuMemSetAccess)                           \
  ROW(cuMemsetD8Async, cuMemsetD8Async)                         \
  ROW(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2)               \
  ROW(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2)               \
  ROW(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2)               \
  ROW(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2)                   \
  ROW(cuMemsetD2D8Async, cuMemsetD2D8Async)                     \
  ROW(cuModuleLoadData, cuModuleLoadData)                       \
  ROW(cuModuleUnload, cuModuleUnload)                           \
  ROW(cuModuleGetFunction, cuModuleGetFunction)                 \
  ROW(cuFuncSetAttribute, cuFuncSetAttribute)                   \
  ROW(cuLaunchKernelEx, cuLaunchKernelEx)                       \
  ROW(cuStreamCreate, cuStreamCreate)                           \
  ROW(cuStreamDestroy_v2, cuStreamDestroy_v2)                   \
  ROW(cuStreamSynchronize, cuStreamSynchronize)                 \
  ROW(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2)         \
  ROW(cuStreamEndCapture, cuStreamEndCapture)                   \
  ROW(cuEventCreate, cuEventCreate)                             \
  ROW(cuEventDestroy_v2, cuEventDestroy_v2)                     \
  ROW(cuEventRecordWithFlags, cuEventRecordWithFlags)           \
  ROW(cuEventElapsedTime_v2, cuEventElapsedTime_v2)             \
  ROW(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags) \
  ROW(cuGraphLaunch, cuGraphLaunch)                             \
  ROW(cuGraphExecDestroy, cuGraphExecDestroy)                   \
  ROW(cuGraphDestroy, cuGraphDestroy)

// A loaded driver; the members are its functions. Immutable after Open, never unloaded.
class Driver {
 public:
  // `library` is a path, or a name that the loader searches: "libcuda.so.1". Names the library, or
  // the function that it lacks.
  static base::Result<std::unique_ptr<Driver>> Open(const std::string& library);

  // "CUDA_ERROR_ILLEGAL_ADDRESS", or the number when the driver has no name for it.
  std::string NameOf(CUresult result) const;
  // Nothing on success; else an error that says what was being done.
  base::Result<void> Check(CUresult result, const char* doing) const;

#define EIDOLON_DECLARE_CALL(name, declaration) decltype(&::declaration) name = nullptr;
  EIDOLON_DRIVER_CALLS(EIDOLON_DECLARE_CALL)
#undef EIDOLON_DECLARE_CALL

 private:
  Driver() = default;
};

// True for results after which no call of this process can succeed: the context is broken, or the
// GPU is gone.
bool IsLost(CUresult result);

}  // namespace eidolon::timing::replay
