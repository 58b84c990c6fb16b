#include "shim/vendor/nccl/registration.h"

#include <cstdint>

#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/library/opaque.h"
#include "shim/vendor/nccl/communicator.h"

namespace eidolon::shim::nccl::registration {
namespace {

struct Registration : library::Opaque<Registration> {
  static constexpr std::uint64_t kMagic = 0x4e43434c72656731u;
  void* buffer = nullptr;
};
struct Window : library::Opaque<Window> {
  static constexpr std::uint64_t kMagic = 0x4e43434c77696e31u;
  void* buffer = nullptr;
};

}  // namespace

ncclResult_t MemAlloc(void** pointer, std::size_t bytes) {
  // NCCL leaves these two to cudaMalloc, which refuses the one and gives null for the other.
  if (pointer == nullptr) return ncclUnhandledCudaError;
  if (gpu::EnsureContext() != gpu::Status::kSuccess) return ncclUnhandledCudaError;
  *pointer = nullptr;
  if (bytes == 0) return ncclSuccess;
  // NCCL takes whole granules from the virtual-memory API.
  if (bytes > SIZE_MAX - gpu::kGranuleBytes) return ncclUnhandledCudaError;
  const std::uint64_t whole =
      (bytes + gpu::kGranuleBytes - 1) / gpu::kGranuleBytes * gpu::kGranuleBytes;
  std::uint64_t address = 0;
  if (gpu::Allocate(gpu::CurrentDevice(), whole, &address) != gpu::Status::kSuccess) {
    return ncclUnhandledCudaError;
  }
  *pointer = reinterpret_cast<void*>(address);
  return ncclSuccess;
}

ncclResult_t MemFree(void* pointer) {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  return gpu::Free(address) == gpu::Status::kSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t Register(const ncclComm_t comm, void* buffer, std::size_t bytes, void** handle) {
  if (const auto result = CheckUsable(Communicator::Find(comm)); result != ncclSuccess) {
    return result;
  }
  if (buffer == nullptr || bytes == 0 || handle == nullptr) return ncclInvalidArgument;
  Registration::Make(handle)->buffer = buffer;
  return ncclSuccess;
}

ncclResult_t Deregister(const ncclComm_t comm, void* handle) {
  if (Communicator::Find(comm) == nullptr) return ncclInvalidArgument;
  return Registration::Destroy(handle) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t WindowRegister(ncclComm_t comm, void* buffer, std::size_t bytes, ncclWindow_t* window,
                            int) {
  if (const auto result = CheckUsable(Communicator::Find(comm)); result != ncclSuccess) {
    return result;
  }
  if (buffer == nullptr || bytes == 0 || window == nullptr) return ncclInvalidArgument;
  Window::Make(window)->buffer = buffer;
  return ncclSuccess;
}

ncclResult_t WindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  if (Communicator::Find(comm) == nullptr) return ncclInvalidArgument;
  return Window::Destroy(window) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t WindowGetUserPointer(ncclComm_t comm, ncclWindow_t window, void** pointer) {
  if (Communicator::Find(comm) == nullptr || pointer == nullptr) return ncclInvalidArgument;
  const Window* found = Window::Find(window);
  if (found == nullptr) return ncclInvalidArgument;
  *pointer = found->buffer;
  return ncclSuccess;
}

}  // namespace eidolon::shim::nccl::registration
