// Functions and kernels of the driver API: attributes, parameters, occupancy. Both are a
// gpu::Kernel.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace eidolon::shim::cuda_driver::function {

CUresult GetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult SetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult GetModule(CUmodule* module, CUfunction function);
CUresult GetName(const char** name, CUfunction function);
CUresult GetParamCount(CUfunction function, std::size_t* count);
CUresult GetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                      std::size_t* bytes);
CUresult IsLoaded(CUfunctionLoadingState* state, CUfunction function);
CUresult Load(CUfunction function);

CUresult GetKernelAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                            CUdevice device);
CUresult SetKernelAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                            CUdevice device);
CUresult GetKernelFunction(CUfunction* function, CUkernel kernel);
CUresult GetKernelLibrary(CUlibrary* library, CUkernel kernel);
CUresult GetKernelName(const char** name, CUkernel kernel);
CUresult GetKernelParamCount(CUkernel kernel, std::size_t* count);
CUresult GetKernelParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                            std::size_t* bytes);

CUresult AvailableDynamicShared(std::size_t* bytes, CUfunction function, int blocks, int threads);
CUresult MaxActiveBlocks(int* blocks, CUfunction function, int threads, std::size_t dynamic_bytes);
CUresult MaxActiveBlocksWithFlags(int* blocks, CUfunction function, int threads,
                                  std::size_t dynamic_bytes, unsigned flags);
CUresult MaxPotentialBlock(int* grid_min, int* threads, CUfunction function,
                           CUoccupancyB2DSize dynamic_bytes_for, std::size_t dynamic_bytes,
                           int threads_limit);
CUresult MaxPotentialBlockWithFlags(int* grid_min, int* threads, CUfunction function,
                                    CUoccupancyB2DSize dynamic_bytes_for, std::size_t dynamic_bytes,
                                    int threads_limit, unsigned flags);
CUresult MaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config);
CUresult MaxPotentialCluster(int* blocks, CUfunction function, const CUlaunchConfig* config);

}  // namespace eidolon::shim::cuda_driver::function
