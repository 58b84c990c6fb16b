// Stream capture of the runtime API.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace eidolon::shim::cuda_runtime::capture {

cudaError_t Begin(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t BeginToGraph(cudaStream_t stream, cudaGraph_t graph,
                         const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                         std::size_t count, cudaStreamCaptureMode mode);
cudaError_t End(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t IsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t GetInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                    cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                    const cudaGraphEdgeData** edges, std::size_t* count);
cudaError_t UpdateDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                               const cudaGraphEdgeData* edges, std::size_t count, unsigned flags);
cudaError_t ExchangeMode(cudaStreamCaptureMode* mode);

}  // namespace eidolon::shim::cuda_runtime::capture
