// Devices as the runtime shows them: choice, properties, attributes, limits, peers, versions.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::device {

cudaError_t GetCount(int* count) noexcept;
cudaError_t Get(int* device) noexcept;
cudaError_t Set(int device) noexcept;
cudaError_t Init(int device, unsigned device_flags, unsigned flags) noexcept;
cudaError_t SetValid(int* devices, int count) noexcept;
cudaError_t Choose(int* device, const cudaDeviceProp* wanted) noexcept;
cudaError_t GetFlags(unsigned* flags) noexcept;
cudaError_t SetFlags(unsigned flags) noexcept;
cudaError_t Synchronize() noexcept;
cudaError_t Reset() noexcept;

cudaError_t GetProperties(cudaDeviceProp* properties, int device) noexcept;
cudaError_t GetAttribute(int* value, cudaDeviceAttr attribute, int device) noexcept;
cudaError_t GetPciBusId(char* text, int length, int device) noexcept;
cudaError_t GetByPciBusId(int* device, const char* text) noexcept;
cudaError_t GetCacheConfig(cudaFuncCache* config) noexcept;
cudaError_t GetSharedMemConfig(cudaSharedMemConfig* config) noexcept;
cudaError_t GetLimit(size_t* value, cudaLimit limit) noexcept;
cudaError_t SetLimit(cudaLimit limit, size_t value) noexcept;
cudaError_t GetStreamPriorityRange(int* least, int* greatest) noexcept;

cudaError_t CanAccessPeer(int* can, int device, int peer) noexcept;
cudaError_t EnablePeerAccess(int peer, unsigned flags) noexcept;
cudaError_t DisablePeerAccess(int peer) noexcept;
cudaError_t GetPeerAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                             int peer) noexcept;

cudaError_t GetDriverVersion(int* version) noexcept;
cudaError_t GetRuntimeVersion(int* version) noexcept;

// Driver functions by name.
cudaError_t GetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                cudaDriverEntryPointQueryResult* status) noexcept;
cudaError_t GetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                         unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) noexcept;

}  // namespace eidolon::shim::cuda_runtime::device
