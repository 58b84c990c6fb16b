// Both kinds of objects are the shared ones; here null handles, missing outputs and the driver's
// context rule are checked. cuStreamAddCallback is the older form of a host function with other
// arguments, so these are kept in an object that the function frees after it has called the
// program.
#include "shim/vendor/cuda_driver/stream.h"

#include <memory>

#include "shim/gpu/stream/callback.h"
#include "shim/gpu/stream/event.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_attributes.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/vendor/cuda_driver/result.h"

namespace eidolon::shim::cuda_driver {

using gpu::Status;

namespace stream {
namespace {

// Answers a question about a live stream.
template <typename Value, typename Read>
CUresult Answer(CUstream stream, Value* value, Read&& read) {
  const gpu::Stream* found = gpu::Lookup(stream);
  if (found == nullptr) return ToResult(Status::kInvalidHandle);
  if (value == nullptr) return ToResult(Status::kInvalidValue);
  *value = read(*found);
  return CUDA_SUCCESS;
}

// Arguments of cuStreamAddCallback for the other side.
struct OldCallback {
  CUstreamCallback function;
  CUstream stream;
  void* data;
};

}  // namespace

CUresult Create(CUstream* stream, unsigned flags) noexcept {
  return CreateWithPriority(stream, flags, 0);
}

CUresult CreateWithPriority(CUstream* stream, unsigned flags, int priority) noexcept {
  if (stream == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  gpu::StreamHandle handle = nullptr;
  const Status status = gpu::CreateStream(flags, priority, &handle);
  if (status == Status::kSuccess) *stream = static_cast<CUstream>(handle);
  return ToResult(status);
}

CUresult Destroy(CUstream stream) noexcept { return ToResult(gpu::DestroyStream(stream)); }
CUresult Synchronize(CUstream stream) noexcept { return ToResult(gpu::SynchronizeStream(stream)); }
CUresult Query(CUstream stream) noexcept { return ToResult(gpu::QueryStream(stream)); }

CUresult WaitEvent(CUstream stream, CUevent event, unsigned flags) noexcept {
  return ToResult(gpu::WaitEvent(stream, event, flags));
}

CUresult LaunchHostFunc(CUstream stream, CUhostFn function, void* data) noexcept {
  return ToResult(gpu::LaunchHostFunction(stream, function, data));
}

CUresult LaunchHostFuncV2(CUstream stream, CUhostFn function, void* data, unsigned) noexcept {
  return LaunchHostFunc(stream, function, data);
}

CUresult AddCallback(CUstream stream, CUstreamCallback callback, void* data,
                     unsigned flags) noexcept {
  if (callback == nullptr || flags != 0) return ToResult(Status::kInvalidValue);
  if (gpu::IsCapturing(stream)) return ToResult(Status::kCaptureUnsupported);
  auto kept = std::make_unique<OldCallback>(callback, stream, data);
  const CUresult result = LaunchHostFunc(
      stream,
      [](void* raw) {
        const auto* old = static_cast<OldCallback*>(raw);
        old->function(old->stream, CUDA_SUCCESS, old->data);
        delete old;
      },
      kept.get());
  if (result == CUDA_SUCCESS) kept.release();
  return result;
}

CUresult GetContext(CUstream stream, CUcontext* context) noexcept {
  return Answer(stream, context, [](const gpu::Stream& found) {
    return static_cast<CUcontext>(static_cast<void*>(found.context));
  });
}

CUresult GetContextV2(CUstream stream, CUcontext* context, CUgreenCtx* green) noexcept {
  if (green != nullptr) *green = nullptr;
  return GetContext(stream, context);
}

CUresult GetDevice(CUstream stream, CUdevice* device) noexcept {
  return Answer(stream, device, [](const gpu::Stream& found) { return found.device; });
}

CUresult GetFlags(CUstream stream, unsigned* flags) noexcept {
  return Answer(stream, flags, [](const gpu::Stream& found) { return found.flags; });
}

CUresult GetId(CUstream stream, unsigned long long* id) noexcept {
  return Answer(stream, id, [](const gpu::Stream& found) { return found.unique_id; });
}

CUresult GetPriority(CUstream stream, int* priority) noexcept {
  return Answer(stream, priority, [](const gpu::Stream& found) { return found.priority; });
}

CUresult GetAttribute(CUstream stream, CUstreamAttrID attribute,
                      CUstreamAttrValue* value) noexcept {
  return ToResult(gpu::GetStreamAttribute(stream, static_cast<int>(attribute), value));
}

CUresult SetAttribute(CUstream stream, CUstreamAttrID attribute,
                      const CUstreamAttrValue* value) noexcept {
  return ToResult(gpu::SetStreamAttribute(stream, static_cast<int>(attribute), value));
}

CUresult CopyAttributes(CUstream target, CUstream source) noexcept {
  return ToResult(gpu::CopyStreamAttributes(target, source));
}

}  // namespace stream

namespace event {

CUresult Create(CUevent* event, unsigned flags) noexcept {
  if (event == nullptr) return ToResult(Status::kInvalidValue);
  if (const Status status = RequireContext(); status != Status::kSuccess) return ToResult(status);
  gpu::EventHandle handle = nullptr;
  const Status status = gpu::CreateEvent(flags, &handle);
  if (status == Status::kSuccess) *event = static_cast<CUevent>(handle);
  return ToResult(status);
}

CUresult Destroy(CUevent event) noexcept { return ToResult(gpu::DestroyEvent(event)); }

CUresult Record(CUevent event, CUstream stream) noexcept {
  return RecordWithFlags(event, stream, 0);
}

CUresult RecordWithFlags(CUevent event, CUstream stream, unsigned flags) noexcept {
  return ToResult(gpu::RecordEvent(event, stream, flags));
}

CUresult Query(CUevent event) noexcept { return ToResult(gpu::QueryEvent(event)); }
CUresult Synchronize(CUevent event) noexcept { return ToResult(gpu::SynchronizeEvent(event)); }

CUresult ElapsedTime(float* milliseconds, CUevent start, CUevent end) noexcept {
  return ToResult(gpu::ElapsedTime(milliseconds, start, end));
}

}  // namespace event
}  // namespace eidolon::shim::cuda_driver
