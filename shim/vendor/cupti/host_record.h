// Activity records of what happens on the host alone: memory, pools, streams, contexts, devices,
// names, and markers of NVTX. They are made where it happens (resource_watch.h, markers.h), kept by
// Watch and handed over by a flush.
#pragma once

#include <cupti.h>

#include <variant>

namespace eidolon::shim::cupti {

// A timestamp is the rank clock's, in picoseconds, until the flush.
using HostRecord =
    std::variant<CUpti_ActivityMemory4, CUpti_ActivityMemoryPool3, CUpti_ActivityStream,
                 CUpti_ActivityContext4, CUpti_ActivityDevice6, CUpti_ActivityName,
                 CUpti_ActivityMarker2, CUpti_ActivityMarkerData2>;

inline CUpti_ActivityKind KindOf(const HostRecord& record) {
  return std::visit([](const auto& one) { return one.kind; }, record);
}

}  // namespace eidolon::shim::cupti
