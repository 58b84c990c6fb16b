// Records of the ring: what the program asked the emulated GPU to do, in program order.
//
// Every record starts with RecordHeader; `bytes` counts header, fixed part and tail, rounded up
// to 8. Identifiers (stream, event, work, communicator, graph) are chosen by the shim, unique in
// the process, never reused; stream 0 of a device is the legacy default stream. Things are defined
// before they are used, in the same ring, so the agent never has to ask back.
#pragma once

#include <cstdint>

#include "services/contract/ring/communication_record.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::ring {

struct DefineWork {
  RecordHeader header;
  std::uint32_t work;
  std::uint32_t definition_bytes;  // Follows: a WorkHeader and its tail.
};

struct StreamRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t non_blocking;  // 1: does not synchronise with the legacy default stream.
  std::int32_t priority;
  std::uint32_t reserved;
};

struct EventRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t event;
};

struct LaunchRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t work;
};

struct CallbackRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t callback;  // The shim runs it before it returns from a wait that covers it.
};

enum class GraphNodeKind : std::uint32_t {
  kEmpty = 0,
  kWork,           // id: work.
  kEventRecord,    // id: event.
  kEventWait,      // id: event.
  kHostCallback,   // id: callback.
  kCommunication,  // id: index of a kCommunication template (see CommunicationRecord::template_id).
};

// Nodes stand in an order in which every dependency comes first.
struct GraphNode {
  GraphNodeKind kind;
  std::uint32_t id;
  std::uint32_t first_dependency;  // Index into the dependency array.
  std::uint32_t dependency_count;
};

struct GraphDefine {
  RecordHeader header;
  std::uint32_t graph;
  std::uint32_t node_count;
  std::uint32_t dependency_count;
  std::uint32_t reserved;
};

struct GraphRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t graph;
};

struct WaitRecord {
  RecordHeader header;
  std::uint32_t slot;
  std::uint32_t observer;  // 1: asked by a watchdog thread; answer at once from committed state.
  std::uint64_t id;
  std::uint64_t id2;
};

enum class MemoryCategory : std::uint32_t {
  kAllocation,
  kPool,
  kWorkspace,
  kNccl,
  kContext,
  kManaged
};

struct MemoryRecord {
  RecordHeader header;
  MemoryCategory category;
  std::uint32_t reserved;
  std::int64_t delta;  // Bytes added or freed; for kOutOfMemory the bytes asked for.
  std::uint64_t used;  // Booked on this device by this process afterwards, all categories.
};

struct MarkRecord {
  RecordHeader header;
  std::uint64_t id;
  std::uint32_t name_bytes;  // The name follows.
  std::uint32_t reserved;
};

}  // namespace eidolon::ring
