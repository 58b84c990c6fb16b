// The virtual-memory API as the driver shows it.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::virtual_memory {

CUresult ReserveAddress(CUdeviceptr* pointer, size_t size, size_t alignment, CUdeviceptr wanted,
                        unsigned long long flags) noexcept;
CUresult FreeAddress(CUdeviceptr pointer, size_t size) noexcept;
CUresult Create(CUmemGenericAllocationHandle* handle, size_t size,
                const CUmemAllocationProp* properties, unsigned long long flags) noexcept;
CUresult Release(CUmemGenericAllocationHandle handle) noexcept;
CUresult Retain(CUmemGenericAllocationHandle* handle, void* address) noexcept;
CUresult Map(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags) noexcept;
CUresult Unmap(CUdeviceptr pointer, size_t size) noexcept;
CUresult SetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* access,
                   size_t count) noexcept;
CUresult GetAccess(unsigned long long* flags, const CUmemLocation* location,
                   CUdeviceptr pointer) noexcept;
CUresult GetGranularity(size_t* granularity, const CUmemAllocationProp* properties,
                        CUmemAllocationGranularity_flags option) noexcept;
CUresult GetProperties(CUmemAllocationProp* properties,
                       CUmemGenericAllocationHandle handle) noexcept;
CUresult Export(void* shareable, CUmemGenericAllocationHandle handle,
                CUmemAllocationHandleType type, unsigned long long flags) noexcept;
CUresult Import(CUmemGenericAllocationHandle* handle, void* shareable,
                CUmemAllocationHandleType type) noexcept;

}  // namespace eidolon::shim::cuda_driver::virtual_memory
