// Keeps the work that the program put on a stream while activity was enabled.
#pragma once

#include <cupti.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/contract/ring/communication_record.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::shim::cupti {

using ActivityKinds = std::bitset<CUPTI_ACTIVITY_KIND_COUNT>;

// A number that the program pushed (cuptiActivityPushExternalCorrelationId), its newest of a kind.
struct ExternalId {
  CUpti_ExternalCorrelationKind kind;
  std::uint64_t id;
};

// One operation or a group of them: a record of work.
struct IssuedWork {
  std::uint64_t position;  // In the ring.
  ring::RecordKind kind;
  std::uint16_t ring_device;
  std::uint32_t stream;
  std::uint32_t subject;  // Of a launch the work, of a graph's launch the graph.
  std::uint32_t correlation;
  ActivityKinds kinds;                             // Enabled when it was issued.
  std::vector<ring::CommunicationOp> collectives;  // Operations in the order of their index.
  std::vector<ExternalId> external;
  std::size_t reported = 0;  // Of its operations, those that have ended.
};

}  // namespace eidolon::shim::cupti
