// Three objects have to agree on what is wanted: Watch keeps calls, ResourceWatch keeps objects and
// memory, and Flusher asks the agent for the times of operations. Each change of a kind therefore
// ends with telling the others, in this order, since they look at what Watch has enabled. Records
// in a buffer have no length field, so walking it depends on RecordBytes, which must know every
// kind that is written. The kind of overhead is accepted and stays empty, because profilers ask for
// it.
#include "shim/vendor/cupti/activity.h"

#include <vector>

#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph.h"
#include "shim/gpu/stream/stream.h"
#include "shim/vendor/cupti/buffer_writer.h"
#include "shim/vendor/cupti/device_record.h"
#include "shim/vendor/cupti/flusher.h"
#include "shim/vendor/cupti/resource_watch.h"
#include "shim/vendor/cupti/watch.h"

namespace eidolon::shim::cupti::activity {
namespace {

// Profilers ask for the profiler's own cost; here it costs no simulated time.
bool IsSupported(CUpti_ActivityKind kind) {
  return kind == CUPTI_ACTIVITY_KIND_OVERHEAD || RecordBytes(kind) != 0;
}

CUptiResult Switch(CUpti_ActivityKind kind, bool enable) {
  if (kind <= CUPTI_ACTIVITY_KIND_INVALID || kind >= CUPTI_ACTIVITY_KIND_COUNT) {
    return CUPTI_ERROR_INVALID_KIND;
  }
  if (!IsSupported(kind)) return CUPTI_ERROR_NOT_SUPPORTED;
  core::Session::Get();  // A profiler may come before the first GPU call.
  Watch::Get().Enable(kind, enable);
  ResourceWatch::Get().Follow();
  Flusher::Get().FollowWatch();
  if (enable) ResourceWatch::Get().Begin(kind);
  return CUPTI_SUCCESS;
}

CUptiResult SwitchCall(Api api, CUpti_CallbackId id, bool enable) {
  Watch::Get().EnableCall(api, id, enable);
  return CUPTI_SUCCESS;
}

}  // namespace

CUptiResult Enable(CUpti_ActivityKind kind) { return Switch(kind, true); }
CUptiResult Disable(CUpti_ActivityKind kind) { return Switch(kind, false); }
CUptiResult EnableContext(CUcontext, CUpti_ActivityKind kind) { return Switch(kind, true); }
CUptiResult DisableContext(CUcontext, CUpti_ActivityKind kind) { return Switch(kind, false); }

CUptiResult EnableRuntimeApi(CUpti_CallbackId id, std::uint8_t enable) {
  return SwitchCall(Api::kRuntime, id, enable != 0);
}
CUptiResult EnableDriverApi(CUpti_CallbackId id, std::uint8_t enable) {
  return SwitchCall(Api::kDriver, id, enable != 0);
}

CUptiResult RegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                              CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Flusher::Get().Register(request, complete);
  return CUPTI_SUCCESS;
}

CUptiResult RegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  if (function == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  Flusher::Get().clock().Register(function);
  return CUPTI_SUCCESS;
}

CUptiResult GetTimestamp(std::uint64_t* timestamp) {
  if (timestamp == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *timestamp = Flusher::Get().clock().Now();
  return CUPTI_SUCCESS;
}

CUptiResult Flush(CUcontext, std::uint32_t, std::uint32_t flag) { return FlushAll(flag); }

CUptiResult FlushAll(std::uint32_t) {
  Flusher::Get().Flush();
  return CUPTI_SUCCESS;
}

CUptiResult Finalize() {
  for (int kind = CUPTI_ACTIVITY_KIND_INVALID + 1; kind < CUPTI_ACTIVITY_KIND_COUNT; ++kind) {
    Watch::Get().Enable(static_cast<CUpti_ActivityKind>(kind), false);
  }
  ResourceWatch::Get().Follow();
  Flusher::Get().FollowWatch();
  return CUPTI_SUCCESS;
}

CUptiResult GetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::size_t at = 0;
  if (*record != nullptr) {
    const std::size_t bytes = RecordBytes((*record)->kind);
    if (bytes == 0) return CUPTI_ERROR_INVALID_KIND;
    const auto* last = reinterpret_cast<const std::uint8_t*>(*record);
    if (last < buffer) return CUPTI_ERROR_INVALID_PARAMETER;
    at = static_cast<std::size_t>(last - buffer) + bytes;
  }
  if (at >= valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
  return CUPTI_SUCCESS;
}

CUptiResult GetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  if (dropped == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *dropped = Flusher::Get().TakeDropped();
  return CUPTI_SUCCESS;
}

CUptiResult PushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id) {
  std::vector<std::uint64_t>* stack = ExternalStackOf(kind);
  if (stack == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  stack->push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult PopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last_id) {
  std::vector<std::uint64_t>* stack = ExternalStackOf(kind);
  if (stack == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (stack->empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (last_id != nullptr) *last_id = stack->back();
  stack->pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult SetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type != CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT &&
      type != CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) {
    return CUPTI_ERROR_NOT_SUPPORTED;
  }
  UseSystemThreadIds(type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  return CUPTI_SUCCESS;
}

CUptiResult GetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *type = UsesSystemThreadIds() ? CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
                                : CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
  return CUPTI_SUCCESS;
}

CUptiResult GetDeviceId(CUcontext context, std::uint32_t* device) {
  if (device == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const gpu::Context* known =
      context == nullptr ? gpu::CurrentContext() : gpu::LookupContext(context);
  if (known == nullptr) return CUPTI_ERROR_INVALID_CONTEXT;
  *device = static_cast<std::uint32_t>(known->device);
  return CUPTI_SUCCESS;
}

CUptiResult GetContextId(CUcontext context, std::uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  std::uint32_t device = 0;
  const CUptiResult known = GetDeviceId(context, &device);
  if (known == CUPTI_SUCCESS) *id = ContextNumber(device);
  return known;
}

CUptiResult GetStreamId(CUcontext context, CUstream stream, std::uint32_t* id) {
  return GetStreamIdEx(context, stream, 0, id);
}

CUptiResult GetStreamIdEx(CUcontext, CUstream stream, std::uint8_t per_thread, std::uint32_t* id) {
  if (id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const gpu::StreamHandle handle =
      stream == nullptr && per_thread != 0 ? gpu::kPerThreadStream : stream;
  const gpu::Stream* known = gpu::Lookup(handle);
  if (known == nullptr) return CUPTI_ERROR_INVALID_STREAM;
  *id = StreamNumber(known->id);
  return CUPTI_SUCCESS;
}

CUptiResult GetGraphId(CUgraph graph, std::uint32_t* id) {
  const gpu::Graph* known = gpu::LookupGraph(graph);
  if (known == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = known->number;
  return CUPTI_SUCCESS;
}

CUptiResult GetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  const gpu::GraphNode* known = gpu::LookupNode(node);
  if (known == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = known->number;
  return CUPTI_SUCCESS;
}

CUptiResult GetGraphExecId(CUgraphExec exec, std::uint32_t* id) {
  const gpu::GraphExec* known = gpu::LookupExec(exec);
  if (known == nullptr || id == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *id = known->number;
  return CUPTI_SUCCESS;
}

}  // namespace eidolon::shim::cupti::activity
