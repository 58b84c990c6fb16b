// Allocation needs a context and fails while a capture in global mode runs; freeing needs no
// context, because the address tells the device. A size of zero is an error here and a success in
// the runtime, so this face checks it before the shared function is called.
#include "shim/vendor/cuda_driver/memory.h"

#include "shim/gpu/allocation/device_memory.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/pointer.h"
#include "shim/gpu/allocation/shared_memory.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::memory {
namespace {

using gpu::Status;

// Allocation needs a context and no capture of global mode.
Status BeforeAllocation() {
  const Status status = RequireContext();
  return status != Status::kSuccess ? status : gpu::CheckUnsafeCall();
}

void* Pointer(CUdeviceptr pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

CUresult Allocate(CUdeviceptr* pointer, size_t size) noexcept {
  if (pointer == nullptr || size == 0) return ToResult(Status::kInvalidValue);
  std::uint64_t address = 0;
  Status status = BeforeAllocation();
  if (status == Status::kSuccess) status = gpu::AllocateDeviceMemory(size, &address);
  if (status == Status::kSuccess) *pointer = address;
  return ToResult(status);
}

CUresult AllocatePitch(CUdeviceptr* pointer, size_t* pitch, size_t width, size_t height,
                       unsigned element_bytes) noexcept {
  const bool has_width = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
  if (pitch == nullptr || !has_width) return ToResult(Status::kInvalidValue);
  *pitch = gpu::PitchOf(width);
  return Allocate(pointer, gpu::PitchedBytes(width, height));
}

CUresult AllocateManaged(CUdeviceptr* pointer, size_t size, unsigned flags) noexcept {
  if (pointer == nullptr || size == 0) return ToResult(Status::kInvalidValue);
  void* address = nullptr;
  Status status = BeforeAllocation();
  if (status == Status::kSuccess) status = gpu::AllocateManaged(size, flags, &address);
  if (status == Status::kSuccess) *pointer = reinterpret_cast<CUdeviceptr>(address);
  return ToResult(status);
}

CUresult Free(CUdeviceptr pointer) noexcept {
  // The address tells the device: numba frees its memory after it has popped the last context.
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  return ToResult(gpu::FreeAnyDeviceMemory(Pointer(pointer)));
}

CUresult GetInfo(size_t* free, size_t* total) noexcept {
  if (free == nullptr || total == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  const gpu::MemoryInfo info = gpu::GetMemoryInfo(gpu::CurrentDevice());
  *free = info.free;
  *total = info.total;
  return CUDA_SUCCESS;
}

CUresult GetAddressRange(CUdeviceptr* begin, size_t* size, CUdeviceptr pointer) noexcept {
  const gpu::PointerInfo info = gpu::Inspect(Pointer(pointer));
  if (info.kind == gpu::PointerKind::kUnregistered) return ToResult(Status::kNotFound);
  if (begin != nullptr) *begin = info.begin;
  if (size != nullptr) *size = info.bytes;
  return CUDA_SUCCESS;
}

CUresult AllocateHost(void** pointer, size_t size) noexcept {
  return HostAllocate(pointer, size, 0);
}

CUresult HostAllocate(void** pointer, size_t size, unsigned flags) noexcept {
  if (pointer == nullptr || size == 0 || flags > 7) return ToResult(Status::kInvalidValue);
  const Status status = BeforeAllocation();
  return ToResult(status != Status::kSuccess ? status : gpu::AllocateHost(size, flags, pointer));
}

CUresult FreeHost(void* pointer) noexcept { return ToResult(gpu::FreeHost(pointer)); }

CUresult HostRegister(void* pointer, size_t size, unsigned flags) noexcept {
  const Status status = BeforeAllocation();
  return ToResult(status != Status::kSuccess ? status : gpu::RegisterHost(pointer, size, flags));
}

CUresult HostUnregister(void* pointer) noexcept { return ToResult(gpu::UnregisterHost(pointer)); }

CUresult HostGetDevicePointer(CUdeviceptr* device, void* host, unsigned flags) noexcept {
  if (device == nullptr || flags != 0 || !gpu::FindHostRange(host).has_value()) {
    return ToResult(Status::kInvalidValue);
  }
  *device = reinterpret_cast<CUdeviceptr>(host);
  return CUDA_SUCCESS;
}

CUresult HostGetFlags(unsigned* flags, void* host) noexcept {
  const auto range = gpu::FindHostRange(host);
  if (flags == nullptr || !range.has_value()) return ToResult(Status::kInvalidValue);
  *flags = range->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

CUresult IpcGetHandle(CUipcMemHandle* handle, CUdeviceptr pointer) noexcept {
  if (handle == nullptr) return ToResult(Status::kInvalidValue);
  return ToResult(gpu::ExportMemory(pointer, handle->reserved));
}

CUresult IpcOpenHandle(CUdeviceptr* pointer, CUipcMemHandle handle, unsigned flags) noexcept {
  if (pointer == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return ToResult(Status::kInvalidValue);
  }
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  std::uint64_t address = 0;
  const Status status = gpu::OpenMemory(handle.reserved, &address);
  if (status == Status::kSuccess) *pointer = address;
  return ToResult(status);
}

CUresult IpcCloseHandle(CUdeviceptr pointer) noexcept {
  return ToResult(gpu::CloseMemory(pointer));
}

}  // namespace eidolon::shim::cuda_driver::memory
