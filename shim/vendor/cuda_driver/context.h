// Contexts as the driver shows them.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::context {

CUresult PrimaryGetState(CUdevice device, unsigned* flags, int* active) noexcept;
CUresult PrimaryRetain(CUcontext* context, CUdevice device) noexcept;
CUresult PrimaryRelease(CUdevice device) noexcept;
CUresult PrimaryReset(CUdevice device) noexcept;
CUresult PrimarySetFlags(CUdevice device, unsigned flags) noexcept;

CUresult Create(CUcontext* context, unsigned flags, CUdevice device) noexcept;
CUresult CreateWithAffinity(CUcontext* context, CUexecAffinityParam* affinity, int count,
                            unsigned flags, CUdevice device) noexcept;
CUresult CreateWithParams(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                          CUdevice device) noexcept;
CUresult Destroy(CUcontext context) noexcept;
CUresult Attach(CUcontext* context, unsigned flags) noexcept;
CUresult Detach(CUcontext context) noexcept;
CUresult GetCurrent(CUcontext* context) noexcept;
CUresult SetCurrent(CUcontext context) noexcept;
CUresult Push(CUcontext context) noexcept;
CUresult Pop(CUcontext* context) noexcept;
CUresult GetDevice(CUdevice* device) noexcept;
CUresult GetDeviceOf(CUdevice* device, CUcontext context) noexcept;
CUresult GetFlags(unsigned* flags) noexcept;
CUresult SetFlags(unsigned flags) noexcept;
CUresult GetId(CUcontext context, unsigned long long* id) noexcept;
CUresult GetApiVersion(CUcontext context, unsigned* version) noexcept;
CUresult GetCacheConfig(CUfunc_cache* config) noexcept;
CUresult GetSharedMemConfig(CUsharedconfig* config) noexcept;
CUresult GetLimit(size_t* value, CUlimit limit) noexcept;
CUresult SetLimit(CUlimit limit, size_t value) noexcept;
CUresult GetStreamPriorityRange(int* least, int* greatest) noexcept;
CUresult EnablePeerAccess(CUcontext peer, unsigned flags) noexcept;
CUresult DisablePeerAccess(CUcontext peer) noexcept;
CUresult Synchronize() noexcept;
CUresult SynchronizeContext(CUcontext context) noexcept;

}  // namespace eidolon::shim::cuda_driver::context
