#include "shim/vendor/cuda_runtime_12/device.h"

#include "shim/vendor/cuda_runtime/error_state.h"
#include "shim/vendor/cuda_runtime/fill_properties.h"
#include "shim/vendor/cuda_runtime_12/device_properties.h"

namespace eidolon::shim::cuda_runtime_12::device {
namespace {

using cuda_runtime::error_state::Finish;

constexpr int kVersion = 12080;

// Fills fields that CUDA 13 has as attributes only.
void FillOlder(DeviceProperties& p, const cuda_runtime::device::Attributes& get) {
  p.clockRate = get(cudaDevAttrClockRate);
  p.memoryClockRate = get(cudaDevAttrMemoryClockRate);
  p.deviceOverlap = get(cudaDevAttrGpuOverlap);
  p.kernelExecTimeoutEnabled = get(cudaDevAttrKernelExecTimeout);
  p.computeMode = get(cudaDevAttrComputeMode);
  p.maxTexture1DLinear = get(cudaDevAttrMaxTexture1DLinearWidth);
  p.singleToDoublePrecisionPerfRatio = get(cudaDevAttrSingleToDoublePrecisionPerfRatio);
}

}  // namespace

cudaError_t GetRuntimeVersion(int* version) noexcept {
  if (version == nullptr) return Finish(gpu::Status::kInvalidValue);
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t GetProperties(cudaDeviceProp* properties, int device) noexcept {
  if (properties == nullptr) return Finish(gpu::Status::kInvalidValue);
  gpu::Initialize();
  if (device < 0 || device >= gpu::DeviceCount()) return Finish(gpu::Status::kInvalidDevice);
  auto& p = *reinterpret_cast<DeviceProperties*>(properties);
  cuda_runtime::device::FillProperties(p, device);
  FillOlder(p, {device});
  return cudaSuccess;
}

}  // namespace eidolon::shim::cuda_runtime_12::device
