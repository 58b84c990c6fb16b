// Buffers that a program hands to NCCL: its own allocations, registrations and windows. Registering
// lets real NCCL skip copies; here it only has to succeed and be undone.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace eidolon::shim::nccl::registration {

ncclResult_t MemAlloc(void** pointer, std::size_t bytes);
ncclResult_t MemFree(void* pointer);
ncclResult_t Register(const ncclComm_t comm, void* buffer, std::size_t bytes, void** handle);
ncclResult_t Deregister(const ncclComm_t comm, void* handle);
ncclResult_t WindowRegister(ncclComm_t comm, void* buffer, std::size_t bytes, ncclWindow_t* window,
                            int flags);
ncclResult_t WindowDeregister(ncclComm_t comm, ncclWindow_t window);
ncclResult_t WindowGetUserPointer(ncclComm_t comm, ncclWindow_t window, void** pointer);

}  // namespace eidolon::shim::nccl::registration
