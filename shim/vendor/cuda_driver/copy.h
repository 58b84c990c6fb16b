// Copies and memsets, as the driver shows them.
#pragma once

#include <cuda.h>

#include "shim/gpu/copy/copy.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::cuda_driver::copy {

// What the structure asks for; arrays are not supported.
gpu::Status RequestOf(const CUDA_MEMCPY3D* parameters, gpu::CopyRequest* request) noexcept;

CUresult Copy(CUdeviceptr target, CUdeviceptr source, size_t bytes) noexcept;
CUresult CopyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) noexcept;
CUresult DeviceToDevice(CUdeviceptr target, CUdeviceptr source, size_t bytes) noexcept;
CUresult DeviceToDeviceAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes,
                             CUstream stream) noexcept;
CUresult DeviceToHost(void* target, CUdeviceptr source, size_t bytes) noexcept;
CUresult DeviceToHostAsync(void* target, CUdeviceptr source, size_t bytes,
                           CUstream stream) noexcept;
CUresult HostToDevice(CUdeviceptr target, const void* source, size_t bytes) noexcept;
CUresult HostToDeviceAsync(CUdeviceptr target, const void* source, size_t bytes,
                           CUstream stream) noexcept;
CUresult Peer(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
              CUcontext source_context, size_t bytes) noexcept;
CUresult PeerAsync(CUdeviceptr target, CUcontext target_context, CUdeviceptr source,
                   CUcontext source_context, size_t bytes, CUstream stream) noexcept;
CUresult Copy2D(const CUDA_MEMCPY2D* parameters) noexcept;
CUresult Copy2DAsync(const CUDA_MEMCPY2D* parameters, CUstream stream) noexcept;
CUresult Copy3D(const CUDA_MEMCPY3D* parameters) noexcept;
CUresult Copy3DAsync(const CUDA_MEMCPY3D* parameters, CUstream stream) noexcept;
CUresult Copy3DPeer(const CUDA_MEMCPY3D_PEER* parameters) noexcept;
CUresult Copy3DPeerAsync(const CUDA_MEMCPY3D_PEER* parameters, CUstream stream) noexcept;
CUresult Batch(CUdeviceptr* targets, CUdeviceptr* sources, size_t* sizes, size_t count,
               CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
               size_t* failed, CUstream stream) noexcept;
CUresult BatchV2(CUdeviceptr* targets, CUdeviceptr* sources, size_t* sizes, size_t count,
                 CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                 CUstream stream) noexcept;
CUresult WithAttributes(CUdeviceptr target, CUdeviceptr source, size_t size,
                        CUmemcpyAttributes* attributes, CUstream stream) noexcept;

CUresult Batch3D(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                 unsigned long long flags, CUstream stream) noexcept;
CUresult Batch3DV2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                   CUstream stream) noexcept;
CUresult Copy3DWithAttributes(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                              CUstream stream) noexcept;
CUresult Prefetch(CUdeviceptr pointer, size_t count, CUdevice device, CUstream stream) noexcept;
CUresult PrefetchV2(CUdeviceptr pointer, size_t count, CUmemLocation location, unsigned flags,
                    CUstream stream) noexcept;

// Memsets of 8, 16 and 32 bits, in a row or in rows.
CUresult Set8(CUdeviceptr target, unsigned char value, size_t count) noexcept;
CUresult Set16(CUdeviceptr target, unsigned short value, size_t count) noexcept;
CUresult Set32(CUdeviceptr target, unsigned value, size_t count) noexcept;
CUresult Set8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream) noexcept;
CUresult Set16Async(CUdeviceptr target, unsigned short value, size_t count,
                    CUstream stream) noexcept;
CUresult Set32Async(CUdeviceptr target, unsigned value, size_t count, CUstream stream) noexcept;
CUresult Set2D8(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
                size_t height) noexcept;
CUresult Set2D16(CUdeviceptr target, size_t pitch, unsigned short value, size_t width,
                 size_t height) noexcept;
CUresult Set2D32(CUdeviceptr target, size_t pitch, unsigned value, size_t width,
                 size_t height) noexcept;
CUresult Set2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width,
                     size_t height, CUstream stream) noexcept;
CUresult Set2D16Async(CUdeviceptr target, size_t pitch, unsigned short value, size_t width,
                      size_t height, CUstream stream) noexcept;
CUresult Set2D32Async(CUdeviceptr target, size_t pitch, unsigned value, size_t width, size_t height,
                      CUstream stream) noexcept;

}  // namespace eidolon::shim::cuda_driver::copy
