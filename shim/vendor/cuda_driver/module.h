// Modules and libraries of the driver API. Both are a gpu::Library.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace eidolon::shim::cuda_driver::module {

CUresult Load(CUmodule* module, const char* path);
CUresult LoadData(CUmodule* module, const void* image);
// PTX is compiled as the options say (jit.h).
CUresult LoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                    void** values);
CUresult Unload(CUmodule module);
CUresult GetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult GetFunctionCount(unsigned* count, CUmodule module);
CUresult EnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module);
CUresult GetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule module, const char* name);
CUresult GetLoadingMode(CUmoduleLoadingMode* mode);

CUresult LoadLibraryData(CUlibrary* library, const void* code, CUjit_option* options, void** values,
                         unsigned count, CUlibraryOption* library_options, void** library_values,
                         unsigned library_count);
CUresult LoadLibraryFile(CUlibrary* library, const char* path, CUjit_option* options, void** values,
                         unsigned count, CUlibraryOption* library_options, void** library_values,
                         unsigned library_count);
CUresult UnloadLibrary(CUlibrary library);
CUresult GetModule(CUmodule* module, CUlibrary library);
CUresult GetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CUresult GetKernelCount(unsigned* count, CUlibrary library);
CUresult EnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library);
CUresult GetLibraryGlobal(CUdeviceptr* address, std::size_t* bytes, CUlibrary library,
                          const char* name);

}  // namespace eidolon::shim::cuda_driver::module
