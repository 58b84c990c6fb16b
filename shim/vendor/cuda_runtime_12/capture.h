// Stream capture with the parameters of CUDA 12, which had no edge data. Thread-safe.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eidolon::shim::cuda_runtime_12::capture {

// The first form: no graph, no dependencies. `id` may be null.
cudaError_t GetState(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id);
cudaError_t GetInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies, std::size_t* count);
cudaError_t UpdateDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                               std::size_t count, unsigned flags);

}  // namespace eidolon::shim::cuda_runtime_12::capture
