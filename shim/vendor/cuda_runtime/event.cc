#include "shim/vendor/cuda_runtime/event.h"

#include "shim/gpu/stream/event.h"
#include "shim/vendor/cuda_runtime/error_state.h"

namespace eidolon::shim::cuda_runtime::event {

using gpu::Status;

cudaError_t Create(cudaEvent_t* event) noexcept { return CreateWithFlags(event, 0); }

cudaError_t CreateWithFlags(cudaEvent_t* event, unsigned flags) noexcept {
  gpu::EventHandle handle = nullptr;
  const Status status = event == nullptr ? Status::kInvalidValue : gpu::CreateEvent(flags, &handle);
  if (status == Status::kSuccess) *event = static_cast<cudaEvent_t>(handle);
  return error_state::Finish(status);
}

cudaError_t Destroy(cudaEvent_t event) noexcept {
  return error_state::Finish(gpu::DestroyEvent(event));
}

cudaError_t Record(cudaEvent_t event, cudaStream_t stream) noexcept {
  return RecordWithFlags(event, stream, 0);
}

cudaError_t RecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) noexcept {
  return error_state::Finish(gpu::RecordEvent(event, stream, flags));
}

cudaError_t Query(cudaEvent_t event) noexcept {
  return error_state::Finish(gpu::QueryEvent(event));
}

cudaError_t Synchronize(cudaEvent_t event) noexcept {
  return error_state::Finish(gpu::SynchronizeEvent(event));
}

cudaError_t ElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) noexcept {
  return error_state::Finish(gpu::ElapsedTime(milliseconds, start, end));
}

}  // namespace eidolon::shim::cuda_runtime::event
