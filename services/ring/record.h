// Records of the ring: what the program asked the emulated GPU to do, in program order.
//
// Every record starts with RecordHeader; `bytes` counts header, fixed part and tail, rounded up
// to 8. Identifiers (stream, event, work, communicator, graph) are chosen by the shim, unique in
// the process, never reused; stream 0 of a device is the legacy default stream. Things are defined
// before they are used, in the same ring, so the agent never has to ask back.
#pragma once

#include <cstdint>

namespace eidolon::ring {

enum class RecordKind : std::uint16_t {
  kPad = 0,  // May be only 8 bytes long, without the clock.
  // Definitions. They cost the program nothing.
  kDefineWork,     // DefineWork + work definition (work.h).
  kStreamCreate,   // StreamRecord.
  kStreamDestroy,  // StreamRecord.
  kEventCreate,    // EventRecord.
  kEventDestroy,   // EventRecord.
  kGraphDefine,    // GraphDefine + GraphNode[node_count] + u32 dependencies[dependency_count].
  kGraphDestroy,   // GraphRecord.
  // Work on a stream.
  kLaunch,           // LaunchRecord: a kernel, library call, copy or memset defined before.
  kEventRecord,      // EventRecord.
  kStreamWaitEvent,  // EventRecord.
  kHostCallback,     // CallbackRecord.
  kGraphLaunch,      // GraphRecord.
  kCommunication,    // CommunicationRecord + CommunicationOp[op_count] + payload.
  // Questions: the thread waits in a reply slot. All are WaitRecord.
  kSynchronizeStream,  // value_ps: when all work issued to the stream so far ends.
  kSynchronizeDevice,  // The same for every stream of the device.
  kSynchronizeEvent,   // When the event's last record completes (its clock if never recorded).
  kQueryStream,        // kOk or kNotReady at host_clock_ps.
  kQueryEvent,   // The same for an event. `observer` set: answer from what is known, never wait.
  kElapsedTime,  // id, id2: events; value_ps: int64 picoseconds between them.
  kWaitUntil,    // id: virtual time; answered when no rank can act before it (sleep).
  // Communicators.
  kCommunicatorInit,     // CommunicatorInit; waits in a slot until all members have joined.
  kCommunicatorSplit,    // CommunicatorSplit; the same. extra: (rank << 32) | size; payload: see
                         // below.
  kCommunicatorDestroy,  // CommunicatorRecord.
  kCollectiveValues,     // WaitRecord, id: communicator, id2: sequence (of a receive: see
                         // ReceiveValues). Waits until every member issued that collective
                         // (`observer` set: kNotReady instead of waiting); payload: the result's
                         // bytes, none when nobody knows them. Costs no virtual time.
  // Notes.
  kMemory,       // MemoryRecord: the allocation book changed.
  kOutOfMemory,  // MemoryRecord: a request of `bytes` was refused.
  kRangePush,    // MarkRecord + name (NVTX).
  kRangePop,     // MarkRecord.
  kRefusedCall,  // MarkRecord + symbol name. Once per name and process; id: 1.
  kUnknownRead,  // MarkRecord; id: bytes the host read that no kernel computed.
  kCount,
};

struct RecordHeader {
  std::uint32_t bytes;
  RecordKind kind;
  std::uint16_t device;         // Server-local index of the emulated GPU.
  std::uint64_t host_clock_ps;  // The calling rank's clock when the call was made.
};

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

// NCCL's operations; the data types and reductions carry NCCL's own numbers.
enum class CommunicationKind : std::uint32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kAllToAll,
  kGather,
  kScatter,
  kSend,
  kReceive,
};

struct CommunicationOp {
  CommunicationKind kind;
  std::uint32_t data_type;  // ncclDataType_t.
  std::uint32_t reduction;  // ncclRedOp_t; custom operators count as sum.
  std::int32_t peer;        // Root, or the partner of a send or receive; else -1.
  std::uint64_t count;      // Elements, as in the NCCL call.
  std::uint64_t bytes;      // Bytes of the large buffer (all-gather, reduce-scatter: times ranks).
  std::uint64_t sequence;   // Number of this operation in its communicator (sends and receives: of
                            // this pair and direction), from 0.
  std::uint32_t payload_bytes;  // This rank's input when it is small and known, else 0.
  std::uint32_t in_place;
};

// id2 of kCollectiveValues for the bytes of a receive: sends and receives are numbered by pair and
// direction (CommunicationOp::sequence), so the peer is named too.
inline constexpr std::uint64_t kReceiveValues = std::uint64_t{1} << 63;
constexpr std::uint64_t ReceiveValues(std::int32_t peer, std::uint64_t sequence) {
  return kReceiveValues | static_cast<std::uint64_t>(peer) << 40 | sequence;
}

// One call, or all operations of one group on one communicator and stream: they start together.
struct CommunicationRecord {
  RecordHeader header;
  std::uint32_t stream;
  std::uint32_t communicator;
  std::uint32_t op_count;
  std::uint32_t payload_bytes;  // All ops' payloads, in order, after the ops.
  std::uint32_t template_id;    // Not 0: only a template for graph nodes, defined while capturing;
                                // each graph launch issues it with fresh sequence numbers.
  std::uint32_t group;          // Operations of several communicators in one group share a number.
};

struct CommunicatorInit {
  RecordHeader header;
  std::uint32_t slot;
  std::uint32_t communicator;
  char unique_id[128];  // ncclUniqueId; the members' common name.
  std::int32_t size;
  std::int32_t rank;  // In the communicator.
  char name[64];      // ncclConfig_t::commName, torch's group name; may be empty.
};

// The reply's payload: u32 global-rank-in-parent of each member, in the new order. A negative
// colour joins nothing but still takes part.
struct CommunicatorSplit {
  RecordHeader header;
  std::uint32_t slot;
  std::uint32_t parent;
  std::uint32_t communicator;  // The new one's identifier.
  std::int32_t color;
  std::int32_t key;
  std::uint32_t reserved;
  char name[64];
};

struct CommunicatorRecord {
  RecordHeader header;
  std::uint32_t communicator;
  std::uint32_t aborted;
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
