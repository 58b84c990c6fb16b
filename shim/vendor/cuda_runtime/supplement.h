// Runtime functions that no header of the stock packages declares as an export: what compiled
// programs call behind the program's back, and the profiler switches. Read by apigen as C.
#pragma once

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

// Registration of device code, called by constructors that nvcc generates.
void** CUDARTAPI __cudaRegisterFatBinary(void* fatbin);
void CUDARTAPI __cudaRegisterFatBinaryEnd(void** handle);
void CUDARTAPI __cudaUnregisterFatBinary(void** handle);
char CUDARTAPI __cudaInitModule(void** handle);
void CUDARTAPI __cudaRegisterFunction(void** handle, const char* host_function,
                                      char* device_function, const char* device_name,
                                      int thread_limit, uint3* tid, uint3* bid, dim3* block,
                                      dim3* grid, int* warp_size);
void CUDARTAPI __cudaRegisterVar(void** handle, char* host_variable, char* device_address,
                                 const char* device_name, int is_extern, size_t size,
                                 int is_constant, int is_global);
void CUDARTAPI __cudaRegisterManagedVar(void** handle, void** host_variable_address,
                                        char* device_address, const char* device_name,
                                        int is_extern, size_t size, int is_constant, int is_global);
void CUDARTAPI __cudaRegisterHostVar(void** handle, const char* device_name, char* host_variable,
                                     size_t size);

// The launch syntax <<<...>>>.
unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                               struct CUstream_st* stream);
cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                                 void* stream);
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t* kernel, const void* host_function);
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                         void** arguments, size_t shared_bytes,
                                         cudaStream_t stream);
cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                              void** arguments, size_t shared_bytes,
                                              cudaStream_t stream);

// cuda_profiler_api.h.
cudaError_t CUDARTAPI cudaProfilerStart(void);
cudaError_t CUDARTAPI cudaProfilerStop(void);

#ifdef __cplusplus
}
#endif
