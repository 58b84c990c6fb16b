// Stream-ordered allocation and its pools, as the driver shows them.
#pragma once

#include <cuda.h>

namespace eidolon::shim::cuda_driver::pool {

CUresult AllocateAsync(CUdeviceptr* pointer, size_t size, CUstream stream) noexcept;
CUresult AllocateFromPoolAsync(CUdeviceptr* pointer, size_t size, CUmemoryPool pool,
                               CUstream stream) noexcept;
CUresult FreeAsync(CUdeviceptr pointer, CUstream stream) noexcept;
CUresult Create(CUmemoryPool* pool, const CUmemPoolProps* properties) noexcept;
CUresult Destroy(CUmemoryPool pool) noexcept;
CUresult TrimTo(CUmemoryPool pool, size_t keep) noexcept;
CUresult GetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
CUresult SetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept;
CUresult GetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) noexcept;
CUresult SetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) noexcept;
CUresult GetDefault(CUmemoryPool* pool, CUdevice device) noexcept;
CUresult GetCurrent(CUmemoryPool* pool, CUdevice device) noexcept;
CUresult SetCurrent(CUdevice device, CUmemoryPool pool) noexcept;

// By location: only devices have pools.
CUresult GetDefaultAt(CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) noexcept;
CUresult GetCurrentAt(CUmemoryPool* pool, CUmemLocation* location,
                      CUmemAllocationType type) noexcept;
CUresult SetCurrentAt(CUmemLocation* location, CUmemAllocationType type,
                      CUmemoryPool pool) noexcept;

CUresult GetGraphAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) noexcept;
CUresult SetGraphAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) noexcept;
CUresult TrimGraphs(CUdevice device) noexcept;

}  // namespace eidolon::shim::cuda_driver::pool
