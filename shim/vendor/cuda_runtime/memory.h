// Memory as the runtime shows it: device, host and managed memory, pointer attributes, sharing.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::memory {

cudaError_t Malloc(void** pointer, size_t size) noexcept;
cudaError_t MallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) noexcept;
cudaError_t Malloc3D(cudaPitchedPtr* pointer, cudaExtent extent) noexcept;
cudaError_t MallocManaged(void** pointer, size_t size, unsigned flags) noexcept;
cudaError_t Free(void* pointer) noexcept;
cudaError_t GetInfo(size_t* free, size_t* total) noexcept;

cudaError_t MallocHost(void** pointer, size_t size) noexcept;
cudaError_t HostAlloc(void** pointer, size_t size, unsigned flags) noexcept;
cudaError_t FreeHost(void* pointer) noexcept;
cudaError_t HostRegister(void* pointer, size_t size, unsigned flags) noexcept;
cudaError_t HostUnregister(void* pointer) noexcept;
cudaError_t HostGetDevicePointer(void** device, void* host, unsigned flags) noexcept;
cudaError_t HostGetFlags(unsigned* flags, void* host) noexcept;

cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) noexcept;

cudaError_t IpcGetHandle(cudaIpcMemHandle_t* handle, void* pointer) noexcept;
cudaError_t IpcOpenHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) noexcept;
cudaError_t IpcCloseHandle(void* pointer) noexcept;

}  // namespace eidolon::shim::cuda_runtime::memory
