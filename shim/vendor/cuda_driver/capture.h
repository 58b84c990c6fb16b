// Stream capture of the driver API.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace eidolon::shim::cuda_driver::capture {

CUresult Begin(CUstream stream, CUstreamCaptureMode mode);
CUresult BeginGlobal(CUstream stream);  // The first version had no mode.
CUresult BeginToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                      const CUgraphEdgeData* edges, std::size_t count, CUstreamCaptureMode mode);
CUresult End(CUstream stream, CUgraph* graph);
CUresult IsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult GetInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id);
CUresult GetInfo2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, std::size_t* count);
CUresult GetInfo3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                  const CUgraphNode** dependencies, const CUgraphEdgeData** edges,
                  std::size_t* count);
CUresult UpdateDependencies(CUstream stream, CUgraphNode* dependencies, std::size_t count,
                            unsigned flags);
CUresult UpdateDependencies2(CUstream stream, CUgraphNode* dependencies,
                             const CUgraphEdgeData* edges, std::size_t count, unsigned flags);
CUresult ExchangeMode(CUstreamCaptureMode* mode);

}  // namespace eidolon::shim::cuda_driver::capture
