// Memory as the driver shows it: device, host and managed memory, pointer attributes, sharing.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::memory {

CUresult Allocate(CUdeviceptr* pointer, size_t size) noexcept;
CUresult AllocatePitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                       unsigned element_bytes) noexcept;
CUresult AllocateManaged(CUdeviceptr* pointer, size_t size, unsigned flags) noexcept;
CUresult Free(CUdeviceptr pointer) noexcept;
CUresult GetInfo(size_t* free, size_t* total) noexcept;
CUresult GetAddressRange(CUdeviceptr* begin, size_t* size, CUdeviceptr pointer) noexcept;

CUresult AllocateHost(void** pointer, size_t size) noexcept;
CUresult HostAllocate(void** pointer, size_t size, unsigned flags) noexcept;
CUresult FreeHost(void* pointer) noexcept;
CUresult HostRegister(void* pointer, size_t size, unsigned flags) noexcept;
CUresult HostUnregister(void* pointer) noexcept;
CUresult HostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags) noexcept;
CUresult HostGetFlags(unsigned* flags, void* host) noexcept;

CUresult PointerGetAttribute(void* data, CUpointer_attribute attribute,
                             CUdeviceptr pointer) noexcept;
CUresult PointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                              CUdeviceptr pointer) noexcept;
CUresult PointerSetAttribute(const void* value, CUpointer_attribute attribute,
                             CUdeviceptr pointer) noexcept;

CUresult IpcGetHandle(CUipcMemHandle* handle, CUdeviceptr pointer) noexcept;
CUresult IpcOpenHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) noexcept;
CUresult IpcCloseHandle(CUdeviceptr pointer) noexcept;

}  // namespace eidolon::shim::cuda_driver::memory
