// CUPTI's activity records. No hardware produces any here: buffers are never asked for, so
// profilers show the host's side of the program and an empty device track. Correlation numbers are
// kept, because profilers pop what they pushed.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cupti::activity {

CUptiResult GetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record);
CUptiResult GetNumDroppedRecords(CUcontext context, std::uint32_t stream, std::size_t* dropped);

// A stack per thread and kind.
CUptiResult PushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t id);
CUptiResult PopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, std::uint64_t* last_id);

}  // namespace eidolon::shim::cupti::activity
