// A driver call without a current context fails, where a runtime call makes one; RequireContext is
// that rule, and the order of the checks decides which code a wrong call gets. Contexts of one
// device differ in identity and flags only: memory and limits belong to the device, and waits and
// peer access go to it. A reset waits and frees nothing, because a program that holds handles would
// find them dangling. Shares of a GPU (execution affinity, CiG) are refused, because no kernel is
// timed on a part of its multiprocessors.
#include "shim/vendor/cuda_driver/context.h"

#include "services/contract/ring/record.h"
#include "shim/core/resource_observer.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device_attributes.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/gpu/stream/waiting.h"
#include "shim/vendor/cuda_driver/context_storage.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver::context {
namespace {

using gpu::Status;

constexpr unsigned kApiVersion = 3020;

CUcontext Handle(gpu::ContextHandle handle) { return static_cast<CUcontext>(handle); }

// The context of a handle; null means the current one.
gpu::Context* Resolve(CUcontext context) {
  return context == nullptr ? gpu::CurrentContext() : gpu::LookupContext(context);
}

template <typename Value>
CUresult Answer(Value* value, Value answer) {
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  *value = answer;
  return CUDA_SUCCESS;
}

int DeviceOfCurrent() {
  const gpu::Context* context = gpu::CurrentContext();
  return context == nullptr ? 0 : context->device;
}

}  // namespace

CUresult PrimaryGetState(CUdevice device, unsigned* flags, int* active) noexcept {
  if (flags == nullptr || active == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  *flags = gpu::PrimaryFlags(device);
  *active = gpu::IsPrimaryActive(device) ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult PrimaryRetain(CUcontext* context, CUdevice device) noexcept {
  if (context == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  gpu::ContextHandle handle = nullptr;
  const Status status = gpu::RetainPrimaryContext(device, &handle);
  if (status == Status::kSuccess) *context = Handle(handle);
  return ToResult(status);
}

CUresult PrimaryRelease(CUdevice device) noexcept {
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  return ToResult(gpu::ReleasePrimaryContext(device));
}

CUresult PrimaryReset(CUdevice device) noexcept {
  // What a program still holds would dangle; the wait is what is left of a reset.
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  if (!gpu::IsPrimaryActive(device)) return CUDA_SUCCESS;
  return ToResult(gpu::WaitForDevice(device));
}

CUresult PrimarySetFlags(CUdevice device, unsigned flags) noexcept {
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  return ToResult(gpu::SetPrimaryFlags(device, flags));
}

CUresult Create(CUcontext* context, unsigned flags, CUdevice device) noexcept {
  if (context == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = CheckDevice(device); status != Status::kSuccess)
    return ToResult(status);
  gpu::ContextHandle handle = nullptr;
  const Status status = gpu::CreateContext(device, flags, &handle);
  if (status == Status::kSuccess) *context = Handle(handle);
  return ToResult(status);
}

CUresult CreateWithAffinity(CUcontext* context, CUexecAffinityParam*, int count, unsigned flags,
                            CUdevice device) noexcept {
  // Shares of a GPU are not simulated.
  return count != 0 ? ToResult(Status::kNotSupported) : Create(context, flags, device);
}

CUresult CreateWithParams(CUcontext* context, CUctxCreateParams* parameters, unsigned flags,
                          CUdevice device) noexcept {
  const bool plain = parameters == nullptr ||
                     (parameters->numExecAffinityParams == 0 && parameters->cigParams == nullptr);
  return plain ? Create(context, flags, device) : ToResult(Status::kNotSupported);
}

CUresult Destroy(CUcontext context) noexcept {
  const gpu::Context* found = gpu::LookupContext(context);
  if (found != nullptr && !found->primary) context_storage::End(context);
  return ToResult(gpu::DestroyContext(context));
}

CUresult Attach(CUcontext* context, unsigned) noexcept { return GetCurrent(context); }

CUresult Detach(CUcontext context) noexcept { return Destroy(context); }

CUresult GetCurrent(CUcontext* context) noexcept {
  if (context == nullptr) return ToResult(Status::kInvalidValue);
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  *context = Handle(gpu::CurrentContext());
  return CUDA_SUCCESS;
}

CUresult SetCurrent(CUcontext context) noexcept {
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  return ToResult(gpu::SetCurrentContext(context));
}

CUresult Push(CUcontext context) noexcept {
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  return ToResult(gpu::PushContext(context));
}

CUresult Pop(CUcontext* context) noexcept {
  if (!gpu::IsInitialized()) return ToResult(Status::kNotInitialized);
  gpu::ContextHandle handle = nullptr;
  const Status status = gpu::PopContext(&handle);
  if (status == Status::kSuccess && context != nullptr) *context = Handle(handle);
  return ToResult(status);
}

CUresult GetDevice(CUdevice* device) noexcept { return Answer(device, DeviceOfCurrent()); }

CUresult GetDeviceOf(CUdevice* device, CUcontext context) noexcept {
  if (device == nullptr) return ToResult(Status::kInvalidValue);
  const gpu::Context* found = Resolve(context);
  if (found == nullptr) return ToResult(Status::kInvalidContext);
  *device = found->device;
  return CUDA_SUCCESS;
}

CUresult GetFlags(unsigned* flags) noexcept {
  const gpu::Context* context = gpu::CurrentContext();
  return Answer(flags, context == nullptr ? 0U : context->flags);
}

CUresult SetFlags(unsigned flags) noexcept {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  gpu::CurrentContext()->flags = flags;
  return CUDA_SUCCESS;
}

CUresult GetId(CUcontext context, unsigned long long* id) noexcept {
  if (id == nullptr) return ToResult(Status::kInvalidValue);
  const gpu::Context* found = Resolve(context);
  if (found == nullptr) return ToResult(Status::kInvalidContext);
  *id = found->id;
  return CUDA_SUCCESS;
}

CUresult GetApiVersion(CUcontext context, unsigned* version) noexcept {
  if (version == nullptr) return ToResult(Status::kInvalidValue);
  if (Resolve(context) == nullptr) return ToResult(Status::kInvalidContext);
  *version = kApiVersion;
  return CUDA_SUCCESS;
}

CUresult GetCacheConfig(CUfunc_cache* config) noexcept {
  return Answer(config, CU_FUNC_CACHE_PREFER_NONE);
}

CUresult GetSharedMemConfig(CUsharedconfig* config) noexcept {
  return Answer(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
}

CUresult GetLimit(size_t* value, CUlimit limit) noexcept {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return ToResult(gpu::GetLimit(DeviceOfCurrent(), static_cast<int>(limit), value));
}

CUresult SetLimit(CUlimit limit, size_t value) noexcept {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  return ToResult(gpu::SetLimit(DeviceOfCurrent(), static_cast<int>(limit), value));
}

CUresult GetStreamPriorityRange(int* least, int* greatest) noexcept {
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = gpu::kGreatestPriority;
  return CUDA_SUCCESS;
}

CUresult EnablePeerAccess(CUcontext peer, unsigned flags) noexcept {
  const gpu::Context* found = gpu::LookupContext(peer);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  if (found == nullptr) return ToResult(Status::kInvalidContext);
  if (flags != 0) return ToResult(Status::kInvalidValue);
  return ToResult(gpu::EnablePeerAccess(DeviceOfCurrent(), found->device));
}

CUresult DisablePeerAccess(CUcontext peer) noexcept {
  const gpu::Context* found = gpu::LookupContext(peer);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  if (found == nullptr) return ToResult(Status::kInvalidContext);
  return ToResult(gpu::DisablePeerAccess(DeviceOfCurrent(), found->device));
}

CUresult Synchronize() noexcept {
  const Status status = RequireContext();
  return ToResult(status != Status::kSuccess ? status : gpu::SynchronizeDevice());
}

CUresult SynchronizeContext(CUcontext context) noexcept {
  gpu::Context* found = Resolve(context);
  if (found == nullptr) return ToResult(Status::kInvalidContext);
  const Status status = gpu::WaitForDevice(found->device);
  if (status == Status::kSuccess) core::TellOfContextWait(found);
  return ToResult(status);
}

}  // namespace eidolon::shim::cuda_driver::context
