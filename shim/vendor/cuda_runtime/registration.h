// Registration of device code by the constructors that nvcc generates, before main. All are
// noexcept and touch no session: a process that never uses a GPU pays a few nanoseconds a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "shim/vendor/cuda_runtime/supplement.h"

namespace eidolon::shim::cuda_runtime::registration {

void** RegisterFatBinary(void* fatbin) noexcept;
void RegisterFatBinaryEnd(void** handle) noexcept;
void UnregisterFatBinary(void** handle) noexcept;
char InitModule(void** handle) noexcept;
void RegisterFunction(void** handle, const char* host_function, char* device_function,
                      const char* device_name, int thread_limit, uint3* tid, uint3* bid,
                      dim3* block, dim3* grid, int* warp_size) noexcept;
void RegisterVar(void** handle, char* host_variable, char* device_address, const char* device_name,
                 int is_extern, std::size_t size, int is_constant, int is_global) noexcept;

cudaError_t GetSymbolAddress(void** address, const void* symbol);
cudaError_t GetSymbolSize(std::size_t* size, const void* symbol);

}  // namespace eidolon::shim::cuda_runtime::registration
