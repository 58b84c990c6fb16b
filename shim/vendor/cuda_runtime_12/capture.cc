#include "shim/vendor/cuda_runtime_12/capture.h"

#include "shim/vendor/cuda_runtime/capture.h"

namespace eidolon::shim::cuda_runtime_12::capture {

cudaError_t GetState(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  return GetInfo(stream, status, id, nullptr, nullptr, nullptr);
}

cudaError_t GetInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, std::size_t* count) {
  return cuda_runtime::capture::GetInfo(stream, status, id, graph, dependencies, nullptr, count);
}

cudaError_t UpdateDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                               std::size_t count, unsigned flags) {
  return cuda_runtime::capture::UpdateDependencies(stream, dependencies, nullptr, count, flags);
}

}  // namespace eidolon::shim::cuda_runtime_12::capture
