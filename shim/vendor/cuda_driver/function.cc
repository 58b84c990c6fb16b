// A CUfunction and a CUkernel are the same object here, because all emulated GPUs of a process are
// alike and code is chosen once: each pair of calls shares its body, and the device that a kernel's
// call names is only checked. Occupancy questions are answered for the current context's device.
// Everything counts as loaded.
#include "shim/vendor/cuda_driver/function.h"

#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/module/function.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_driver/launch.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::function {
namespace {

using gpu::Status;

// Runs `body`, which gives a Status, on the kernel of a handle.
template <typename Body>
CUresult With(const void* handle, Body&& body) {
  gpu::Kernel* kernel = gpu::LookupKernel(handle);
  return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : ToResult(body(*kernel));
}

template <typename Body>
CUresult WithOn(const void* handle, CUdevice device, Body&& body) {
  if (device < 0 || device >= gpu::DeviceCount()) return CUDA_ERROR_INVALID_DEVICE;
  return With(handle, body);
}

CUresult NameOf(const char** name, const void* handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    *name = kernel.name.c_str();
    return Status::kSuccess;
  });
}

CUresult CountParameters(const void* handle, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    *count = kernel.parameters.size();
    return Status::kSuccess;
  });
}

CUresult DescribeParameter(const void* handle, std::size_t index, std::size_t* offset,
                           std::size_t* bytes) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle,
              [&](gpu::Kernel& kernel) { return gpu::GetParameter(kernel, index, offset, bytes); });
}

// Gives the kernel's own handle, or that of its library, under another type.
template <typename Handle>
CUresult GiveKernel(Handle* result, const void* handle) {
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    *result = reinterpret_cast<Handle>(&kernel);
    return Status::kSuccess;
  });
}

template <typename Handle>
CUresult GiveLibrary(Handle* result, const void* handle) {
  if (result == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    *result = reinterpret_cast<Handle>(kernel.library);
    return Status::kSuccess;
  });
}

}  // namespace

CUresult GetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::GetAttribute(kernel, static_cast<gpu::FunctionAttribute>(attribute), value);
  });
}

CUresult SetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::SetAttribute(kernel, static_cast<gpu::FunctionAttribute>(attribute), value,
                             gpu::CurrentDevice());
  });
}

CUresult GetModule(CUmodule* module, CUfunction function) { return GiveLibrary(module, function); }

CUresult GetName(const char** name, CUfunction function) { return NameOf(name, function); }

CUresult GetParamCount(CUfunction function, std::size_t* count) {
  return CountParameters(function, count);
}

CUresult GetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                      std::size_t* bytes) {
  return DescribeParameter(function, index, offset, bytes);
}

CUresult IsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(function, [&](gpu::Kernel&) {
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return Status::kSuccess;
  });
}

CUresult Load(CUfunction function) {
  return With(function, [](gpu::Kernel&) { return Status::kSuccess; });
}

CUresult GetKernelAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                            CUdevice device) {
  return WithOn(handle, device, [&](gpu::Kernel& kernel) {
    return gpu::GetAttribute(kernel, static_cast<gpu::FunctionAttribute>(attribute), value);
  });
}

CUresult SetKernelAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                            CUdevice device) {
  return WithOn(handle, device, [&](gpu::Kernel& kernel) {
    return gpu::SetAttribute(kernel, static_cast<gpu::FunctionAttribute>(attribute), value, device);
  });
}

CUresult GetKernelFunction(CUfunction* function, CUkernel kernel) {
  return GiveKernel(function, kernel);
}

CUresult GetKernelLibrary(CUlibrary* library, CUkernel kernel) {
  return GiveLibrary(library, kernel);
}

CUresult GetKernelName(const char** name, CUkernel kernel) { return NameOf(name, kernel); }

CUresult GetKernelParamCount(CUkernel kernel, std::size_t* count) {
  return CountParameters(kernel, count);
}

CUresult GetKernelParamInfo(CUkernel kernel, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  return DescribeParameter(kernel, index, offset, bytes);
}

CUresult AvailableDynamicShared(std::size_t* bytes, CUfunction handle, int blocks, int threads) {
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::AvailableDynamicShared(kernel, gpu::CurrentDevice(), blocks, threads, bytes);
  });
}

CUresult MaxActiveBlocks(int* blocks, CUfunction handle, int threads, std::size_t dynamic_bytes) {
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::MaxActiveBlocks(kernel, gpu::CurrentDevice(), threads, dynamic_bytes, blocks);
  });
}

// The flag speaks of caching that devices from 7.0 on do not have.
CUresult MaxActiveBlocksWithFlags(int* blocks, CUfunction function, int threads,
                                  std::size_t dynamic_bytes, unsigned flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return MaxActiveBlocks(blocks, function, threads, dynamic_bytes);
}

CUresult MaxPotentialBlock(int* grid_min, int* threads, CUfunction handle,
                           CUoccupancyB2DSize dynamic_bytes_for, std::size_t dynamic_bytes,
                           int threads_limit) {
  if (grid_min == nullptr || threads == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    gpu::PotentialShape shape;
    const Status status = gpu::MaxPotentialBlock(kernel, gpu::CurrentDevice(),
                                                 {.dynamic_bytes_for = dynamic_bytes_for,
                                                  .dynamic_bytes = dynamic_bytes,
                                                  .threads_limit = threads_limit},
                                                 &shape);
    *grid_min = shape.grid_min;
    *threads = shape.threads;
    return status;
  });
}

CUresult MaxPotentialBlockWithFlags(int* grid_min, int* threads, CUfunction function,
                                    CUoccupancyB2DSize dynamic_bytes_for, std::size_t dynamic_bytes,
                                    int threads_limit, unsigned flags) {
  if (flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) return CUDA_ERROR_INVALID_VALUE;
  return MaxPotentialBlock(grid_min, threads, function, dynamic_bytes_for, dynamic_bytes,
                           threads_limit);
}

CUresult MaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::MaxActiveClusters(kernel, gpu::CurrentDevice(), launch::ShapeOf(*config), clusters);
  });
}

CUresult MaxPotentialCluster(int* blocks, CUfunction handle, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return With(handle, [&](gpu::Kernel& kernel) {
    return gpu::MaxPotentialCluster(kernel, gpu::CurrentDevice(), launch::ShapeOf(*config), blocks);
  });
}

}  // namespace eidolon::shim::cuda_driver::function
