// Streams are the shared ones, under the runtime's codes and its last error. cudaStreamAddCallback
// is the older form of a host function with other arguments, so these are kept in an object that
// the function frees after it has called the program.
#include "shim/vendor/cuda_runtime/stream.h"

#include <memory>

#include "shim/gpu/stream/callback.h"
#include "shim/gpu/stream/event.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/stream_attributes.h"
#include "shim/gpu/stream/stream_wait.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::stream {
namespace {

using gpu::Status;

// Answers a question about a live stream.
template <typename Value, typename Read>
cudaError_t Answer(cudaStream_t stream, Value* value, Read&& read) {
  const gpu::Stream* found = gpu::Lookup(stream);
  if (found == nullptr) return error_state::Finish(Status::kInvalidHandle);
  if (value == nullptr) return error_state::Finish(Status::kInvalidValue);
  *value = read(*found);
  return cudaSuccess;
}

// Arguments of cudaStreamAddCallback for the other side.
struct OldCallback {
  cudaStreamCallback_t function;
  cudaStream_t stream;
  void* data;
};

}  // namespace

cudaError_t Create(cudaStream_t* stream) noexcept { return CreateWithPriority(stream, 0, 0); }

cudaError_t CreateWithFlags(cudaStream_t* stream, unsigned flags) noexcept {
  return CreateWithPriority(stream, flags, 0);
}

cudaError_t CreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) noexcept {
  gpu::StreamHandle handle = nullptr;
  const Status status =
      stream == nullptr ? Status::kInvalidValue : gpu::CreateStream(flags, priority, &handle);
  if (status == Status::kSuccess) *stream = static_cast<cudaStream_t>(handle);
  return error_state::Finish(status);
}

cudaError_t Destroy(cudaStream_t stream) noexcept {
  return error_state::Finish(gpu::DestroyStream(stream));
}

cudaError_t Synchronize(cudaStream_t stream) noexcept {
  return error_state::Finish(gpu::SynchronizeStream(stream));
}

cudaError_t Query(cudaStream_t stream) noexcept {
  return error_state::Finish(gpu::QueryStream(stream));
}

cudaError_t WaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) noexcept {
  return error_state::Finish(gpu::WaitEvent(stream, event, flags));
}

cudaError_t LaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) noexcept {
  return error_state::Finish(gpu::LaunchHostFunction(stream, function, data));
}

cudaError_t LaunchHostFuncV2(cudaStream_t stream, cudaHostFn_t function, void* data,
                             unsigned) noexcept {
  return LaunchHostFunc(stream, function, data);
}

cudaError_t AddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                        unsigned flags) noexcept {
  if (callback == nullptr || flags != 0) return error_state::Finish(Status::kInvalidValue);
  if (gpu::IsCapturing(stream)) return error_state::Finish(Status::kCaptureUnsupported);
  auto kept = std::make_unique<OldCallback>(callback, stream, data);
  const cudaError_t result = LaunchHostFunc(
      stream,
      [](void* raw) {
        const auto* old = static_cast<OldCallback*>(raw);
        old->function(old->stream, cudaSuccess, old->data);
        delete old;
      },
      kept.get());
  if (result == cudaSuccess) kept.release();
  return result;
}

cudaError_t GetDevice(cudaStream_t stream, int* device) noexcept {
  return Answer(stream, device, [](const gpu::Stream& found) { return found.device; });
}

cudaError_t GetFlags(cudaStream_t stream, unsigned* flags) noexcept {
  return Answer(stream, flags, [](const gpu::Stream& found) { return found.flags; });
}

cudaError_t GetId(cudaStream_t stream, unsigned long long* id) noexcept {
  return Answer(stream, id, [](const gpu::Stream& found) { return found.unique_id; });
}

cudaError_t GetPriority(cudaStream_t stream, int* priority) noexcept {
  return Answer(stream, priority, [](const gpu::Stream& found) { return found.priority; });
}

cudaError_t GetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                         cudaLaunchAttributeValue* value) noexcept {
  return error_state::Finish(gpu::GetStreamAttribute(stream, static_cast<int>(attribute), value));
}

cudaError_t SetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                         const cudaLaunchAttributeValue* value) noexcept {
  return error_state::Finish(gpu::SetStreamAttribute(stream, static_cast<int>(attribute), value));
}

cudaError_t CopyAttributes(cudaStream_t target, cudaStream_t source) noexcept {
  return error_state::Finish(gpu::CopyStreamAttributes(target, source));
}

}  // namespace eidolon::shim::cuda_runtime::stream
