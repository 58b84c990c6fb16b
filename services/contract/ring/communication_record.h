// Records of NCCL: operations, and joining, splitting and leaving communicators (see record.h).
#pragma once

#include <cstdint>

#include "services/contract/collective/values.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::ring {

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

constexpr bool Reduces(const CommunicationOp& op) {
  return op.kind == CommunicationKind::kAllReduce || op.kind == CommunicationKind::kReduceScatter ||
         op.kind == CommunicationKind::kReduce;
}

// Returns the size of the large buffer of an operation that carries values.
constexpr std::uint64_t ValueBytesMax(const CommunicationOp& op) {
  return collective::ValueBytesMax(Reduces(op), op.data_type);
}

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
  // Folded jobs: the global ranks of all members, in the communicator's order, which is ascending;
  // so many folding::RankRun follow.
  std::uint32_t member_runs;
  std::uint32_t reserved;
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
  std::uint32_t member_runs;  // Folded jobs: as in CommunicatorInit; none for a negative colour.
  char name[64];
};

struct CommunicatorRecord {
  RecordHeader header;
  std::uint32_t communicator;
  std::uint32_t aborted;
};

}  // namespace eidolon::ring
