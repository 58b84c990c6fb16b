// Contexts and the calling thread's context stack, as the driver API has them; the runtime API only
// uses primary contexts. A CUcontext is the address of a Context.
#pragma once

#include <cstdint>

#include "shim/gpu/device/device.h"
#include "shim/gpu/status.h"

namespace eidolon::shim::gpu {

struct Context {
  static constexpr std::uint32_t kMagic = 0x45435458;

  std::uint32_t magic = 0;
  int device = 0;
  bool primary = false;
  std::uint32_t flags = 0;
  std::uint64_t id = 0;
  std::uint32_t retained = 0;  // Primary: cuDevicePrimaryCtxRetain count.
};

using ContextHandle = void*;

// cuInit has happened (any runtime call does it): kNoDevice without a session.
Status Initialize() noexcept;
bool IsInitialized() noexcept;

// The thread's top context; nullptr when it has none. LookupContext: of a handle, nullptr when
// invalid.
Context* CurrentContext() noexcept;
Context* LookupContext(ContextHandle handle) noexcept;
// The device's primary context, made (and its memory booked) on first use; nullptr when the device
// does not exist or has no room for a context.
Context* PrimaryContext(int device) noexcept;
// True when the device's primary context exists: some call has used the device.
bool IsPrimaryActive(int device) noexcept;

// The runtime's rule: the current context, or the primary context of the thread's device made
// current.
Status EnsureContext() noexcept;

// Driver operations.
Status SetCurrentContext(ContextHandle handle) noexcept;
Status PushContext(ContextHandle handle) noexcept;
Status PopContext(ContextHandle* result) noexcept;
Status CreateContext(int device, std::uint32_t flags, ContextHandle* result) noexcept;
Status DestroyContext(ContextHandle handle) noexcept;
Status RetainPrimaryContext(int device, ContextHandle* result) noexcept;
Status ReleasePrimaryContext(int device) noexcept;
Status SetPrimaryFlags(int device, std::uint32_t flags) noexcept;
std::uint32_t PrimaryFlags(int device) noexcept;

// Device of the calling thread's current context; 0 without one.
int CurrentDevice() noexcept;
// The runtime's cudaSetDevice.
Status SetDevice(int device) noexcept;

}  // namespace eidolon::shim::gpu
