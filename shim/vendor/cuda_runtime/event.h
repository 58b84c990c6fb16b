// Events, as the runtime shows them.
#pragma once

#include <cuda_runtime_api.h>

namespace eidolon::shim::cuda_runtime::event {

cudaError_t Create(cudaEvent_t* event) noexcept;
cudaError_t CreateWithFlags(cudaEvent_t* event, unsigned flags) noexcept;
cudaError_t Destroy(cudaEvent_t event) noexcept;
cudaError_t Record(cudaEvent_t event, cudaStream_t stream) noexcept;
cudaError_t RecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) noexcept;
cudaError_t Query(cudaEvent_t event) noexcept;
cudaError_t Synchronize(cudaEvent_t event) noexcept;
cudaError_t ElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) noexcept;

}  // namespace eidolon::shim::cuda_runtime::event
