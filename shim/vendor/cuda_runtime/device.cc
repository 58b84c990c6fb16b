// The first question about devices starts the driver, as the real runtime's does: programs go on
// with driver calls. Only torchrun, which wants to know no more than the number, gets it without a
// session (DeviceCountOfLauncher), because a process with one cannot be forked into ranks. Driver
// functions by name come from the shim's own table and never from a library, so no call leaves the
// emulated driver.
#include "shim/vendor/cuda_runtime/device.h"

#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device_attributes.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cuda_driver/lookup.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::device {
namespace {

using gpu::Status;

// Every question about devices starts the driver, as the real runtime does: programs go on with
// driver calls.
int StartedDeviceCount() { return gpu::Initialize() == Status::kSuccess ? gpu::DeviceCount() : 0; }

bool IsDevice(int device) { return device >= 0 && device < StartedDeviceCount(); }

cudaError_t Answer(int* value, int answer) {
  if (value == nullptr) return error_state::Finish(Status::kInvalidValue);
  *value = answer;
  return cudaSuccess;
}

}  // namespace

cudaError_t GetCount(int* count) noexcept {
  if (count == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (const auto known = gpu::DeviceCountOfLauncher(); known && *known > 0) {
    *count = *known;
    return error_state::Finish(Status::kSuccess);
  }
  const Status started = gpu::Initialize();  // Says why there is none.
  *count = started == Status::kSuccess ? gpu::DeviceCount() : 0;
  return error_state::Finish(started);
}

cudaError_t Get(int* device) noexcept {
  if (StartedDeviceCount() == 0) return error_state::Finish(Status::kNoDevice);
  return Answer(device, gpu::CurrentDevice());
}

cudaError_t Set(int device) noexcept { return error_state::Finish(gpu::SetDevice(device)); }

cudaError_t Init(int device, unsigned, unsigned) noexcept {
  if (!IsDevice(device)) return error_state::Finish(Status::kInvalidDevice);
  return gpu::PrimaryContext(device) != nullptr ? cudaSuccess
                                                : error_state::Finish(Status::kOutOfMemory);
}

cudaError_t SetValid(int* devices, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    if (devices == nullptr || !IsDevice(devices[i]))
      return error_state::Finish(Status::kInvalidDevice);
  }
  return cudaSuccess;
}

cudaError_t Choose(int* device, const cudaDeviceProp* wanted) noexcept {
  if (wanted == nullptr) return error_state::Finish(Status::kInvalidValue);
  if (StartedDeviceCount() == 0) return error_state::Finish(Status::kNoDevice);
  return Answer(device, 0);  // All devices of a server are alike.
}

cudaError_t GetFlags(unsigned* flags) noexcept {
  if (flags == nullptr) return error_state::Finish(Status::kInvalidValue);
  *flags = gpu::PrimaryFlags(gpu::CurrentDevice()) | cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t SetFlags(unsigned flags) noexcept {
  return error_state::Finish(gpu::SetPrimaryFlags(gpu::CurrentDevice(), flags));
}

cudaError_t Synchronize() noexcept { return error_state::Finish(gpu::SynchronizeDevice()); }

cudaError_t Reset() noexcept {
  // What a program still holds would dangle; frameworks never call this but at their end.
  return error_state::Finish(gpu::SynchronizeDevice());
}

cudaError_t GetAttribute(int* value, cudaDeviceAttr attribute, int device) noexcept {
  if (!IsDevice(device)) return error_state::Finish(Status::kInvalidDevice);
  const auto found = gpu::DeviceAttribute(device, static_cast<int>(attribute));
  return found.has_value() ? Answer(value, *found) : error_state::Finish(Status::kInvalidValue);
}

cudaError_t GetPciBusId(char* text, int length, int device) noexcept {
  if (text == nullptr || length < 13) return error_state::Finish(Status::kInvalidValue);
  if (!IsDevice(device)) return error_state::Finish(Status::kInvalidDevice);
  gpu::FormatPciBusId(device, text, length);
  return cudaSuccess;
}

cudaError_t GetByPciBusId(int* device, const char* text) noexcept {
  if (text == nullptr) return error_state::Finish(Status::kInvalidValue);
  const int found = gpu::FindPciBusId(text);
  return found < 0 ? error_state::Finish(Status::kInvalidDevice) : Answer(device, found);
}

cudaError_t GetCacheConfig(cudaFuncCache* config) noexcept {
  if (config == nullptr) return error_state::Finish(Status::kInvalidValue);
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}

cudaError_t GetSharedMemConfig(cudaSharedMemConfig* config) noexcept {
  if (config == nullptr) return error_state::Finish(Status::kInvalidValue);
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

cudaError_t GetLimit(size_t* value, cudaLimit limit) noexcept {
  return error_state::Finish(gpu::GetLimit(gpu::CurrentDevice(), static_cast<int>(limit), value));
}

cudaError_t SetLimit(cudaLimit limit, size_t value) noexcept {
  return error_state::Finish(gpu::SetLimit(gpu::CurrentDevice(), static_cast<int>(limit), value));
}

cudaError_t GetStreamPriorityRange(int* least, int* greatest) noexcept {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = gpu::kGreatestPriority;
  return cudaSuccess;
}

cudaError_t CanAccessPeer(int* can, int device, int peer) noexcept {
  if (!IsDevice(device) || !IsDevice(peer)) return error_state::Finish(Status::kInvalidDevice);
  return Answer(can, gpu::CanAccessPeer(device, peer) ? 1 : 0);
}

cudaError_t EnablePeerAccess(int peer, unsigned flags) noexcept {
  if (flags != 0) return error_state::Finish(Status::kInvalidValue);
  return error_state::Finish(gpu::EnablePeerAccess(gpu::CurrentDevice(), peer));
}

cudaError_t DisablePeerAccess(int peer) noexcept {
  return error_state::Finish(gpu::DisablePeerAccess(gpu::CurrentDevice(), peer));
}

cudaError_t GetPeerAttribute(int* value, cudaDeviceP2PAttr attribute, int device,
                             int peer) noexcept {
  if (!IsDevice(device) || !IsDevice(peer) || device == peer) {
    return error_state::Finish(Status::kInvalidDevice);
  }
  const auto found = gpu::PeerAttribute(static_cast<int>(attribute), device, peer);
  return found.has_value() ? Answer(value, *found) : error_state::Finish(Status::kInvalidValue);
}

cudaError_t GetDriverVersion(int* version) noexcept {
  core::Session* session = core::Session::Get();
  // Answers as without a driver: 0 and success.
  return Answer(version,
                session == nullptr ? 0 : static_cast<int>(session->header().driver_version));
}

cudaError_t GetRuntimeVersion(int* version) noexcept { return Answer(version, CUDART_VERSION); }

cudaError_t GetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                         unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) noexcept {
  if (symbol == nullptr || function == nullptr || flags > cudaEnablePerThreadDefaultStream) {
    return error_state::Finish(Status::kInvalidValue);
  }
  gpu::Initialize();
  const cuda_driver::FoundFunction found = cuda_driver::FindDriverFunction(
      symbol, static_cast<int>(version), flags == cudaEnablePerThreadDefaultStream);
  *function = found.address;
  if (status != nullptr) {
    *status = found.address != nullptr ? cudaDriverEntryPointSuccess
              : found.version_too_old  ? cudaDriverEntryPointVersionNotSufficent
                                       : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  }
  return found.address != nullptr ? cudaSuccess : error_state::Finish(Status::kNotFound);
}

cudaError_t GetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                cudaDriverEntryPointQueryResult* status) noexcept {
  return GetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

}  // namespace eidolon::shim::cuda_runtime::device
