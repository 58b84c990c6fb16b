// Fills the structure of cudaGetDeviceProperties, which has other fields in CUDA 12 than in CUDA
// 13, from the device's attributes. Needs gpu::Initialize before. Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/device/device_attributes.h"

namespace eidolon::shim::cuda_runtime::device {

// Reads one attribute after another of a device.
struct Attributes {
  int device;
  int operator()(cudaDeviceAttr attribute) const {
    return gpu::DeviceAttribute(device, static_cast<int>(attribute)).value_or(0);
  }
};

template <typename Properties>
void FillIdentity(Properties& p, int device) {
  const ring::DeviceProperties& model = gpu::PropertiesOf(device);
  std::copy(std::begin(model.name), std::end(model.name), std::begin(p.name));
  p.name[sizeof(model.name) - 1] = '\0';
  std::memcpy(p.uuid.bytes, model.uuid, sizeof(p.uuid.bytes));
  p.pciBusID = static_cast<int>(model.pci_bus);
  p.totalGlobalMem = model.memory_bytes;
  p.major = static_cast<int>(model.compute_major);
  p.minor = static_cast<int>(model.compute_minor);
}

template <typename Properties>
void FillCompute(Properties& p, const Attributes& get) {
  p.sharedMemPerBlock = static_cast<size_t>(get(cudaDevAttrMaxSharedMemoryPerBlock));
  p.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  p.warpSize = get(cudaDevAttrWarpSize);
  p.memPitch = static_cast<size_t>(get(cudaDevAttrMaxPitch));
  p.maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  p.maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
  p.maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
  p.maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
  p.maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
  p.maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
  p.maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
  p.totalConstMem = static_cast<size_t>(get(cudaDevAttrTotalConstantMemory));
  p.multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  p.concurrentKernels = get(cudaDevAttrConcurrentKernels);
  p.maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.sharedMemPerMultiprocessor =
      static_cast<size_t>(get(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
  p.regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.cooperativeLaunch = get(cudaDevAttrCooperativeLaunch);
  p.sharedMemPerBlockOptin = static_cast<size_t>(get(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  p.maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  p.reservedSharedMemPerBlock = static_cast<size_t>(get(cudaDevAttrReservedSharedMemoryPerBlock));
  p.clusterLaunch = get(cudaDevAttrClusterLaunch);
  p.computePreemptionSupported = get(cudaDevAttrComputePreemptionSupported);
  p.unifiedFunctionPointers = 1;
}

template <typename Properties>
void FillMemory(Properties& p, const Attributes& get) {
  p.canMapHostMemory = get(cudaDevAttrCanMapHostMemory);
  p.ECCEnabled = get(cudaDevAttrEccEnabled);
  p.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  p.unifiedAddressing = get(cudaDevAttrUnifiedAddressing);
  p.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = get(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = get(cudaDevAttrMaxPersistingL2CacheSize);
  p.accessPolicyMaxWindowSize = get(cudaDevAttrMaxAccessPolicyWindowSize);
  p.streamPrioritiesSupported = get(cudaDevAttrStreamPrioritiesSupported);
  p.globalL1CacheSupported = get(cudaDevAttrGlobalL1CacheSupported);
  p.localL1CacheSupported = get(cudaDevAttrLocalL1CacheSupported);
  p.managedMemory = get(cudaDevAttrManagedMemory);
  p.concurrentManagedAccess = get(cudaDevAttrConcurrentManagedAccess);
  p.canUseHostPointerForRegisteredMem = get(cudaDevAttrCanUseHostPointerForRegisteredMem);
  p.hostRegisterSupported = get(cudaDevAttrHostRegisterSupported);
  p.hostRegisterReadOnlySupported = get(cudaDevAttrHostRegisterReadOnlySupported);
  p.memoryPoolsSupported = get(cudaDevAttrMemoryPoolsSupported);
  p.memoryPoolSupportedHandleTypes =
      static_cast<unsigned>(get(cudaDevAttrMemoryPoolSupportedHandleTypes));
  p.gpuDirectRDMASupported = get(cudaDevAttrGPUDirectRDMASupported);
  p.gpuDirectRDMAFlushWritesOptions =
      static_cast<unsigned>(get(cudaDevAttrGPUDirectRDMAFlushWritesOptions));
  p.gpuDirectRDMAWritesOrdering = get(cudaDevAttrGPUDirectRDMAWritesOrdering);
  p.ipcEventSupported = get(cudaDevAttrIpcEventSupport);
  if constexpr (requires { p.deviceNumaConfig; }) {  // CUDA 13.
    p.deviceNumaConfig = get(cudaDevAttrNumaConfig);
    p.deviceNumaId = get(cudaDevAttrNumaId);
    p.hostNumaId = get(cudaDevAttrHostNumaId);
  }
}

template <typename Properties>
void FillTextures(Properties& p, const Attributes& get) {
  p.textureAlignment = static_cast<size_t>(get(cudaDevAttrTextureAlignment));
  p.texturePitchAlignment = static_cast<size_t>(get(cudaDevAttrTexturePitchAlignment));
  p.surfaceAlignment = static_cast<size_t>(get(cudaDevAttrSurfaceAlignment));
  p.maxTexture1D = get(cudaDevAttrMaxTexture1DWidth);
  p.maxTexture1DMipmap = get(cudaDevAttrMaxTexture1DMipmappedWidth);
  p.maxTexture2D[0] = get(cudaDevAttrMaxTexture2DWidth);
  p.maxTexture2D[1] = get(cudaDevAttrMaxTexture2DHeight);
  p.maxTexture2DLinear[0] = get(cudaDevAttrMaxTexture2DLinearWidth);
  p.maxTexture2DLinear[1] = get(cudaDevAttrMaxTexture2DLinearHeight);
  p.maxTexture2DLinear[2] = get(cudaDevAttrMaxTexture2DLinearPitch);
  p.maxTexture3D[0] = get(cudaDevAttrMaxTexture3DWidth);
  p.maxTexture3D[1] = get(cudaDevAttrMaxTexture3DHeight);
  p.maxTexture3D[2] = get(cudaDevAttrMaxTexture3DDepth);
  p.maxTextureCubemap = get(cudaDevAttrMaxTextureCubemapWidth);
  p.maxSurface1D = get(cudaDevAttrMaxSurface1DWidth);
  p.maxSurface2D[0] = get(cudaDevAttrMaxSurface2DWidth);
  p.maxSurface2D[1] = get(cudaDevAttrMaxSurface2DHeight);
  p.maxSurfaceCubemap = get(cudaDevAttrMaxSurfaceCubemapWidth);
}

// `Properties` is a plain structure with the vendor's field names; what no attribute tells stays
// zero.
template <typename Properties>
void FillProperties(Properties& p, int device) {
  std::memset(&p, 0, sizeof(p));
  const Attributes get{device};
  FillIdentity(p, device);
  FillCompute(p, get);
  FillMemory(p, get);
  FillTextures(p, get);
}

}  // namespace eidolon::shim::cuda_runtime::device
