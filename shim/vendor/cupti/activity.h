// CUPTI's activity interface: which records the program wants, where it wants them, and its
// numbers beside ours. What is not recorded: counters, sampling, overhead.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cupti::activity {

CUptiResult Enable(CUpti_ActivityKind kind);
CUptiResult Disable(CUpti_ActivityKind kind);
// Contexts are not told apart.
CUptiResult EnableContext(CUcontext context, CUpti_ActivityKind kind);
CUptiResult DisableContext(CUcontext context, CUpti_ActivityKind kind);
CUptiResult EnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enable);
CUptiResult EnableDriverApi(CUpti_CallbackId id, std::uint8_t enable);

CUptiResult RegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                              CUpti_BuffersCallbackCompleteFunc complete);
CUptiResult RegisterTimestampCallback(CUpti_TimestampCallbackFunc function);
CUptiResult GetTimestamp(std::uint64_t* timestamp);
CUptiResult Flush(CUcontext context, std::uint32_t stream, std::uint32_t flag);
CUptiResult FlushAll(std::uint32_t flag);
CUptiResult Finalize();

CUptiResult GetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record);
CUptiResult GetNumDroppedRecords(CUcontext context, std::uint32_t stream, std::size_t* dropped);

// A stack per thread and kind.
CUptiResult PushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
CUptiResult PopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last_id);

CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType type);
CUptiResult GetThreadIdType(CUpti_ActivityThreadIdType* type);

// Returns the id as records number them.
CUptiResult GetDeviceId(CUcontext context, std::uint32_t* device);
CUptiResult GetContextId(CUcontext context, std::uint32_t* id);
CUptiResult GetStreamId(CUcontext context, CUstream stream, std::uint32_t* id);
CUptiResult GetStreamIdEx(CUcontext context, CUstream stream, std::uint8_t per_thread,
                          std::uint32_t* id);
CUptiResult GetGraphId(CUgraph graph, std::uint32_t* id);
CUptiResult GetGraphNodeId(CUgraphNode node, std::uint64_t* id);
CUptiResult GetGraphExecId(CUgraphExec exec, std::uint32_t* id);

}  // namespace eidolon::shim::cupti::activity
