// These calls need cuInit and no context. What differs between GPUs comes from the agent's
// description of the device, everything else from the table of attributes, which the runtime's
// calls and the property structures read as well, so that all ways to ask give the same number.
#include "shim/vendor/cuda_driver/device.h"

#include <algorithm>
#include <cstring>

#include "shim/gpu/device/device.h"
#include "shim/gpu/device/device_attributes.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::device {
namespace {

using gpu::Status;

// Calls answer(model) for an existing device when `output` is given.
template <typename Answer>
CUresult WithDevice(const void* output, CUdevice device, Answer&& answer) {
  if (output == nullptr) return ToResult(Status::kInvalidValue);
  const Status status = CheckDevice(device);
  if (status == Status::kSuccess) answer(gpu::PropertiesOf(device));
  return ToResult(status);
}

}  // namespace

CUresult Get(CUdevice* device, int ordinal) noexcept {
  return WithDevice(device, ordinal, [&](const auto&) { *device = ordinal; });
}

CUresult GetCount(int* count) noexcept {
  if (count == nullptr) return ToResult(Status::kInvalidValue);
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  *count = gpu::DeviceCount();
  return CUDA_SUCCESS;
}

CUresult GetName(char* name, int length, CUdevice device) noexcept {
  if (length <= 0) return ToResult(Status::kInvalidValue);
  return WithDevice(name, device, [&](const ring::DeviceProperties& model) {
    const std::size_t bytes =
        std::min(static_cast<std::size_t>(length) - 1, strnlen(model.name, sizeof(model.name)));
    std::memcpy(name, model.name, bytes);
    name[bytes] = '\0';
  });
}

CUresult GetUuid(CUuuid* uuid, CUdevice device) noexcept {
  return WithDevice(uuid, device, [&](const ring::DeviceProperties& model) {
    std::memcpy(uuid->bytes, model.uuid, sizeof(uuid->bytes));
  });
}

CUresult GetLuid(char* luid, unsigned* mask, CUdevice device) noexcept {
  return WithDevice(luid, device, [&](const auto&) {
    std::memset(luid, 0, 8);
    if (mask != nullptr) *mask = 0;
  });
}

CUresult GetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) noexcept {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  const auto found = gpu::DeviceAttribute(device, static_cast<int>(attribute));
  if (!found.has_value()) return ToResult(Status::kInvalidValue);
  *value = *found;
  return CUDA_SUCCESS;
}

CUresult GetProperties(CUdevprop* properties, CUdevice device) noexcept {
  return WithDevice(properties, device, [&](const ring::DeviceProperties& model) {
    const auto get = [&](CUdevice_attribute attribute) {
      return gpu::DeviceAttribute(device, static_cast<int>(attribute)).value_or(0);
    };
    *properties = {};
    properties->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    properties->maxThreadsDim[0] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
    properties->maxThreadsDim[1] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
    properties->maxThreadsDim[2] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
    properties->maxGridSize[0] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    properties->maxGridSize[1] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    properties->maxGridSize[2] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
    properties->sharedMemPerBlock = static_cast<int>(model.shared_bytes_per_block);
    properties->totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    properties->SIMDWidth = gpu::kWarpSize;
    properties->memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    properties->regsPerBlock = static_cast<int>(model.registers_per_block);
    properties->clockRate = static_cast<int>(model.sm_clock_khz);
    properties->textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  });
}

CUresult ComputeCapability(int* major, int* minor, CUdevice device) noexcept {
  if (minor == nullptr) return ToResult(Status::kInvalidValue);
  return WithDevice(major, device, [&](const ring::DeviceProperties& model) {
    *major = static_cast<int>(model.compute_major);
    *minor = static_cast<int>(model.compute_minor);
  });
}

CUresult TotalMemory(size_t* bytes, CUdevice device) noexcept {
  return WithDevice(bytes, device,
                    [&](const ring::DeviceProperties& model) { *bytes = model.memory_bytes; });
}

CUresult GetPciBusId(char* text, int length, CUdevice device) noexcept {
  if (length < 13) return ToResult(Status::kInvalidValue);
  return WithDevice(text, device, [&](const auto&) { gpu::FormatPciBusId(device, text, length); });
}

CUresult GetByPciBusId(CUdevice* device, const char* text) noexcept {
  if (device == nullptr || text == nullptr) return ToResult(Status::kInvalidValue);
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  const int found = gpu::FindPciBusId(text);
  if (found < 0) return ToResult(Status::kInvalidDevice);
  *device = found;
  return CUDA_SUCCESS;
}

CUresult CanAccessPeer(int* can, CUdevice device, CUdevice peer) noexcept {
  if (const Status status = CheckDevice(peer); status != Status::kSuccess) return ToResult(status);
  return WithDevice(can, device,
                    [&](const auto&) { *can = gpu::CanAccessPeer(device, peer) ? 1 : 0; });
}

CUresult GetPeerAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice device,
                          CUdevice peer) noexcept {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  if (CheckDevice(peer) != Status::kSuccess || device == peer) {
    return ToResult(Status::kInvalidDevice);
  }
  const auto found = gpu::PeerAttribute(static_cast<int>(attribute), device, peer);
  if (!found.has_value()) return ToResult(Status::kInvalidValue);
  *value = *found;
  return CUDA_SUCCESS;
}

}  // namespace eidolon::shim::cuda_driver::device
