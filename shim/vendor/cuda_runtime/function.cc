// A symbol may be a host function that stands for a kernel, or a kernel's own handle, and nothing
// in the value tells which. The table of host functions is asked first; then the address is
// compared with all handles that were given out, and its memory is never read, because it may be
// code or nothing at all. A failed look-up is cudaErrorInvalidDeviceFunction, as in the runtime,
// and becomes the thread's last error.
#include "shim/vendor/cuda_runtime/function.h"

#include <cstring>

#include "shim/gpu/context/context.h"
#include "shim/gpu/module/function.h"
#include "shim/gpu/module/host_symbols.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/launch_shape.h"

namespace eidolon::shim::cuda_runtime::function {
namespace {

using error_state::Fail;
using error_state::Finish;
using gpu::FunctionAttribute;

int Attribute(const gpu::Kernel& kernel, FunctionAttribute attribute) {
  int value = 0;
  gpu::GetAttribute(kernel, attribute, &value);
  return value;
}

// Finds the kernel and runs `body`, which gives a Status.
template <typename Body>
cudaError_t With(const void* symbol, Body&& body) {
  gpu::Kernel* kernel = nullptr;
  if (const cudaError_t error = Find(symbol, &kernel); error != cudaSuccess) return error;
  return Finish(body(*kernel));
}

gpu::Status FindQuietly(const void* symbol, gpu::Kernel** kernel) {
  const gpu::Status status = gpu::FindHostKernel(symbol, kernel);
  if (status != gpu::Status::kNotFound) return status;
  *kernel = gpu::LookupKernelAt(symbol);
  return *kernel == nullptr ? status : gpu::Status::kSuccess;
}

}  // namespace

cudaError_t Find(const void* symbol, gpu::Kernel** kernel) {
  if (symbol == nullptr) return Fail(cudaErrorInvalidDeviceFunction);
  if (gpu::CurrentContext() == nullptr) {
    if (const gpu::Status status = gpu::EnsureContext(); status != gpu::Status::kSuccess) {
      return Finish(status);
    }
  }
  const gpu::Status status = FindQuietly(symbol, kernel);
  if (status == gpu::Status::kNotFound) return Fail(cudaErrorInvalidDeviceFunction);
  return Finish(status);
}

cudaError_t GetKernelBare(cudaKernel_t* kernel, const void* host_function) noexcept {
  gpu::Kernel* found = nullptr;
  const cudaError_t error = Find(host_function, &found);
  if (error == cudaSuccess) *kernel = reinterpret_cast<cudaKernel_t>(found);
  return error;
}

cudaError_t GetKernel(cudaKernel_t* kernel, const void* host_function) {
  if (kernel == nullptr) return Fail(cudaErrorInvalidValue);
  return GetKernelBare(kernel, host_function);
}

cudaError_t GetFunctionBySymbol(cudaFunction_t* function, const void* symbol) {
  if (function == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    *function = reinterpret_cast<cudaFunction_t>(&kernel);
    return gpu::Status::kSuccess;
  });
}

cudaError_t GetName(const char** name, const void* symbol) {
  if (name == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    *name = kernel.name.c_str();
    return gpu::Status::kSuccess;
  });
}

cudaError_t GetParamCount(const void* symbol, std::size_t* count) {
  if (count == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    *count = kernel.parameters.size();
    return gpu::Status::kSuccess;
  });
}

cudaError_t GetParamInfo(const void* symbol, std::size_t index, std::size_t* offset,
                         std::size_t* bytes) {
  return With(symbol,
              [&](gpu::Kernel& kernel) { return gpu::GetParameter(kernel, index, offset, bytes); });
}

cudaError_t GetAttributes(cudaFuncAttributes* attributes, const void* symbol) {
  if (attributes == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    std::memset(attributes, 0, sizeof(*attributes));
    const auto get = [&](FunctionAttribute attribute) { return Attribute(kernel, attribute); };
    const auto bytes = [&](FunctionAttribute attribute) {
      return static_cast<std::size_t>(Attribute(kernel, attribute));
    };
    attributes->sharedSizeBytes = bytes(FunctionAttribute::kSharedBytes);
    attributes->constSizeBytes = bytes(FunctionAttribute::kConstantBytes);
    attributes->localSizeBytes = bytes(FunctionAttribute::kLocalBytes);
    attributes->maxThreadsPerBlock = get(FunctionAttribute::kMaxThreadsPerBlock);
    attributes->numRegs = get(FunctionAttribute::kRegisters);
    attributes->ptxVersion = get(FunctionAttribute::kPtxVersion);
    attributes->binaryVersion = get(FunctionAttribute::kBinaryVersion);
    attributes->cacheModeCA = get(FunctionAttribute::kCacheModeCa);
    attributes->maxDynamicSharedSizeBytes = get(FunctionAttribute::kMaxDynamicSharedBytes);
    attributes->preferredShmemCarveout = get(FunctionAttribute::kSharedCarveout);
    attributes->clusterDimMustBeSet = get(FunctionAttribute::kClusterMustBeSet);
    attributes->requiredClusterWidth = get(FunctionAttribute::kRequiredClusterWidth);
    attributes->requiredClusterHeight = get(FunctionAttribute::kRequiredClusterHeight);
    attributes->requiredClusterDepth = get(FunctionAttribute::kRequiredClusterDepth);
    attributes->clusterSchedulingPolicyPreference =
        get(FunctionAttribute::kClusterSchedulingPolicy);
    attributes->nonPortableClusterSizeAllowed = get(FunctionAttribute::kNonPortableClusterAllowed);
    return gpu::Status::kSuccess;
  });
}

cudaError_t SetAttribute(const void* symbol, cudaFuncAttribute attribute, int value) {
  return With(symbol, [&](gpu::Kernel& kernel) {
    return gpu::SetAttribute(kernel, static_cast<FunctionAttribute>(attribute), value,
                             gpu::CurrentDevice());
  });
}

cudaError_t SetKernelAttribute(cudaKernel_t handle, cudaFuncAttribute attribute, int value,
                               int device) {
  if (device < 0 || device >= gpu::DeviceCount()) return Fail(cudaErrorInvalidDevice);
  gpu::Kernel* kernel = gpu::LookupKernel(handle);
  if (kernel == nullptr) return Fail(cudaErrorInvalidResourceHandle);
  return Finish(
      gpu::SetAttribute(*kernel, static_cast<FunctionAttribute>(attribute), value, device));
}

cudaError_t AvailableDynamicShared(std::size_t* bytes, const void* symbol, int blocks,
                                   int threads) {
  return With(symbol, [&](gpu::Kernel& kernel) {
    return gpu::AvailableDynamicShared(kernel, gpu::CurrentDevice(), blocks, threads, bytes);
  });
}

cudaError_t MaxActiveBlocks(int* blocks, const void* symbol, int threads,
                            std::size_t dynamic_bytes) {
  return With(symbol, [&](gpu::Kernel& kernel) {
    return gpu::MaxActiveBlocks(kernel, gpu::CurrentDevice(), threads, dynamic_bytes, blocks);
  });
}

// The flag speaks of caching that devices from 7.0 on do not have.
cudaError_t MaxActiveBlocksWithFlags(int* blocks, const void* symbol, int threads,
                                     std::size_t dynamic_bytes, unsigned flags) {
  if (flags > cudaOccupancyDisableCachingOverride) return Fail(cudaErrorInvalidValue);
  return MaxActiveBlocks(blocks, symbol, threads, dynamic_bytes);
}

cudaError_t MaxActiveClusters(int* clusters, const void* symbol, const cudaLaunchConfig_t* config) {
  if (config == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    return gpu::MaxActiveClusters(kernel, gpu::CurrentDevice(), launch::ShapeOf(*config), clusters);
  });
}

cudaError_t MaxPotentialCluster(int* blocks, const void* symbol, const cudaLaunchConfig_t* config) {
  if (config == nullptr) return Fail(cudaErrorInvalidValue);
  return With(symbol, [&](gpu::Kernel& kernel) {
    return gpu::MaxPotentialCluster(kernel, gpu::CurrentDevice(), launch::ShapeOf(*config), blocks);
  });
}

}  // namespace eidolon::shim::cuda_runtime::function
