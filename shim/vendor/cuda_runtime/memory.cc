// Allocation makes a context if there is none, and fails while a capture in global mode runs, which
// invalidates that capture (CheckUnsafeCall). A size of zero succeeds for device and pinned memory,
// other than in the driver. Volumes multiply numbers of the program, so overflow is caught and
// becomes a size that no device has. PointerGetAttributes succeeds for any pointer, and says when
// it is not registered.
#include "shim/vendor/cuda_runtime/memory.h"

#include <cstdint>

#include "shim/gpu/allocation/device_memory.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/pointer.h"
#include "shim/gpu/allocation/shared_memory.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::memory {
namespace {

using gpu::Status;

// Allocation is not allowed while a capture of global mode runs.
Status BeforeAllocation() {
  const Status status = gpu::EnsureContext();
  return status != Status::kSuccess ? status : gpu::CheckUnsafeCall();
}

}  // namespace

cudaError_t Malloc(void** pointer, size_t size) noexcept {
  if (pointer == nullptr) return error_state::Finish(Status::kInvalidValue);
  std::uint64_t address = 0;
  Status status = BeforeAllocation();
  if (status == Status::kSuccess) status = gpu::AllocateDeviceMemory(size, &address);
  if (status == Status::kSuccess) *pointer = reinterpret_cast<void*>(address);
  return error_state::Finish(status);
}

cudaError_t MallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) noexcept {
  if (pointer == nullptr || pitch == nullptr) return error_state::Finish(Status::kInvalidValue);
  *pitch = gpu::PitchOf(width);
  return Malloc(pointer, gpu::PitchedBytes(width, height));
}

cudaError_t Malloc3D(cudaPitchedPtr* pointer, cudaExtent extent) noexcept {
  if (pointer == nullptr) return error_state::Finish(Status::kInvalidValue);
  pointer->pitch = gpu::PitchOf(extent.width);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  std::size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) rows = SIZE_MAX;
  return Malloc(&pointer->ptr, gpu::PitchedBytes(extent.width, rows));
}

cudaError_t MallocManaged(void** pointer, size_t size, unsigned flags) noexcept {
  if (pointer == nullptr || flags == 0 || flags > cudaMemAttachHost) {
    return error_state::Finish(Status::kInvalidValue);
  }
  const Status status = BeforeAllocation();
  return error_state::Finish(
      status != Status::kSuccess ? status : gpu::AllocateManaged(size, flags, pointer));
}

cudaError_t Free(void* pointer) noexcept {
  return error_state::Finish(gpu::FreeAnyDeviceMemory(pointer));
}

cudaError_t GetInfo(size_t* free, size_t* total) noexcept {
  if (free == nullptr || total == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (const Status status = gpu::EnsureContext(); status != Status::kSuccess) {
    return error_state::Finish(status);
  }
  const gpu::MemoryInfo info = gpu::GetMemoryInfo(gpu::CurrentDevice());
  *free = info.free;
  *total = info.total;
  return cudaSuccess;
}

cudaError_t MallocHost(void** pointer, size_t size) noexcept {
  return HostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t HostAlloc(void** pointer, size_t size, unsigned flags) noexcept {
  if (pointer == nullptr || flags > 7) return error_state::Finish(Status::kInvalidValue);
  const Status status = BeforeAllocation();
  return error_state::Finish(status != Status::kSuccess ? status
                                                        : gpu::AllocateHost(size, flags, pointer));
}

cudaError_t FreeHost(void* pointer) noexcept {
  const Status status = gpu::CheckUnsafeCall();
  return error_state::Finish(status != Status::kSuccess ? status : gpu::FreeHost(pointer));
}

cudaError_t HostRegister(void* pointer, size_t size, unsigned flags) noexcept {
  const Status status = BeforeAllocation();
  return error_state::Finish(status != Status::kSuccess ? status
                                                        : gpu::RegisterHost(pointer, size, flags));
}

cudaError_t HostUnregister(void* pointer) noexcept {
  return error_state::Finish(gpu::UnregisterHost(pointer));
}

cudaError_t HostGetDevicePointer(void** device, void* host, unsigned flags) noexcept {
  if (device == nullptr || flags != 0 || !gpu::FindHostRange(host).has_value()) {
    return error_state::Finish(Status::kInvalidValue);
  }
  *device = host;
  return cudaSuccess;
}

cudaError_t HostGetFlags(unsigned* flags, void* host) noexcept {
  const auto range = gpu::FindHostRange(host);
  if (flags == nullptr || !range.has_value()) return error_state::Finish(Status::kInvalidValue);
  *flags = range->flags | cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t PointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) noexcept {
  if (attributes == nullptr) return error_state::Finish(Status::kInvalidValue);
  const gpu::PointerInfo info = gpu::Inspect(pointer);
  *attributes = {};
  attributes->device = info.device;
  void* address = const_cast<void*>(pointer);
  switch (info.kind) {
    case gpu::PointerKind::kUnregistered:
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = address;
      break;
    case gpu::PointerKind::kHost:
      attributes->type = cudaMemoryTypeHost;
      attributes->devicePointer = address;
      attributes->hostPointer = address;
      break;
    case gpu::PointerKind::kDevice:
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = address;
      break;
    case gpu::PointerKind::kManaged:
      attributes->type = cudaMemoryTypeManaged;
      attributes->devicePointer = address;
      attributes->hostPointer = address;
      break;
  }
  return cudaSuccess;
}

cudaError_t IpcGetHandle(cudaIpcMemHandle_t* handle, void* pointer) noexcept {
  if (handle == nullptr) return error_state::Finish(Status::kInvalidValue);
  return error_state::Finish(
      gpu::ExportMemory(reinterpret_cast<std::uint64_t>(pointer), handle->reserved));
}

cudaError_t IpcOpenHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) noexcept {
  if (pointer == nullptr || flags != cudaIpcMemLazyEnablePeerAccess) {
    return error_state::Finish(Status::kInvalidValue);
  }
  if (const Status status = gpu::EnsureContext(); status != Status::kSuccess) {
    return error_state::Finish(status);
  }
  std::uint64_t address = 0;
  const Status status = gpu::OpenMemory(handle.reserved, &address);
  if (status == Status::kSuccess) *pointer = reinterpret_cast<void*>(address);
  return error_state::Finish(status);
}

cudaError_t IpcCloseHandle(void* pointer) noexcept {
  return error_state::Finish(gpu::CloseMemory(reinterpret_cast<std::uint64_t>(pointer)));
}

}  // namespace eidolon::shim::cuda_runtime::memory
