// Libraries loaded by the program through the runtime (cudaLibrary...).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eidolon::shim::cuda_runtime::library {

cudaError_t LoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options,
                     void** values, unsigned count, cudaLibraryOption* library_options,
                     void** library_values, unsigned library_count);
cudaError_t LoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* options,
                         void** values, unsigned count, cudaLibraryOption* library_options,
                         void** library_values, unsigned library_count);
cudaError_t Unload(cudaLibrary_t library);
cudaError_t GetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name);
cudaError_t GetGlobal(void** address, std::size_t* bytes, cudaLibrary_t library, const char* name);
cudaError_t GetKernelCount(unsigned* count, cudaLibrary_t library);
cudaError_t EnumerateKernels(cudaKernel_t* kernels, unsigned count, cudaLibrary_t library);

}  // namespace eidolon::shim::cuda_runtime::library
