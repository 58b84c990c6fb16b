#include "shim/nccl/values.h"

#include <nccl.h>

#include <array>
#include <cstdint>

#include "services/ring/layout.h"
#include "shim/nccl/communicator.h"
#include "shim/nccl/group.h"
#include "shim/value/pending.h"
#include "shim/value/store.h"

namespace eidolon::shim::nccl {
namespace {

using ring::CommunicationKind;

// All of a record's payload, so that a record of many small operations stays within its limit.
constexpr std::size_t kRecordPayloadBytes = 512 << 10;

std::uint64_t Address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

bool IsSmall(std::uint64_t bytes) { return bytes > 0 && bytes <= ring::kPayloadBytes; }

// Results of custom reductions (scaled sums) are not computed, and rounding of narrow floats is
// NCCL's own.
bool IsComputable(const ring::CommunicationOp& op) {
  const bool reduces = op.kind == CommunicationKind::kAllReduce ||
                       op.kind == CommunicationKind::kReduce ||
                       op.kind == CommunicationKind::kReduceScatter;
  return !reduces || (op.reduction < ncclNumOps && op.data_type < ncclFloat8e4m3);
}

// A pickled object of bytes, as torch.distributed sends objects: the longest of all ranks decides
// the size, and what lies behind a shorter one is padding that nobody ever wrote or reads.
bool IsPaddedObject(const ring::CommunicationOp& op, std::uint64_t address, std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 4;  // The shortest pickle.
  const bool is_byte = op.data_type == ncclInt8 || op.data_type == ncclUint8;
  const bool moves =
      op.kind == CommunicationKind::kAllGather || op.kind == CommunicationKind::kGather ||
      op.kind == CommunicationKind::kScatter || op.kind == CommunicationKind::kBroadcast ||
      op.kind == CommunicationKind::kSend;
  value::Store& store = value::ProcessStore();
  if (!is_byte || !moves || bytes < kLeast || store.KnownRun(address) < kLeast) return false;
  std::array<unsigned char, 2> head;
  store.Read(address, head.data(), head.size());
  return head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;  // PROTO and its version.
}

// The input of the rank that has one decides alone what the others receive.
bool OutputDependsOnOthersOnly(const Communicator& communicator, const ring::CommunicationOp& op) {
  switch (op.kind) {
    case CommunicationKind::kBroadcast:
    case CommunicationKind::kScatter:
      return op.peer != communicator.rank;
    case CommunicationKind::kReceive:
      return true;
    default:
      return false;
  }
}

}  // namespace

void AttachInput(Operation& operation, std::vector<std::byte>& payload) {
  operation.op.payload_bytes = 0;
  const std::uint64_t bytes = operation.input_bytes;
  // The large buffer bounds every rank's answer too, which travels through a slot of the same size.
  if (!IsSmall(bytes) || !IsSmall(operation.op.bytes) || !IsComputable(operation.op)) return;
  if (payload.size() + bytes > kRecordPayloadBytes) return;
  value::Pending& values = value::ProcessPending();
  if (!values.IsKnown(Address(operation.input), bytes) &&
      !IsPaddedObject(operation.op, Address(operation.input), bytes)) {
    return;
  }
  const std::size_t offset = payload.size();
  payload.resize(offset + bytes);
  value::ProcessStore().Read(Address(operation.input), payload.data() + offset, bytes);
  operation.op.payload_bytes = static_cast<std::uint32_t>(bytes);
}

void NoteOutput(const Communicator& communicator, const Operation& operation) {
  const ring::CommunicationOp& op = operation.op;
  const std::uint64_t bytes = operation.output_bytes;
  if (bytes == 0) return;
  value::Pending& values = value::ProcessPending();
  const std::uint64_t target = Address(operation.output);
  if (op.kind == CommunicationKind::kBroadcast && op.peer == communicator.rank) {
    if (operation.input != operation.output) {
      values.Copy(target, Address(operation.input), bytes);
    }
    return;
  }
  const bool small = IsSmall(bytes) && IsSmall(op.bytes) && IsComputable(op);
  const bool may_be_known = op.payload_bytes > 0 || OutputDependsOnOthersOnly(communicator, op);
  if (!small || !may_be_known) {
    values.Forget(target, bytes);
    return;
  }
  const std::uint64_t sequence = op.kind == CommunicationKind::kReceive
                                     ? ring::ReceiveValues(op.peer, op.sequence)
                                     : op.sequence;
  values.AwaitCollective(communicator.id, sequence, target, bytes);
}

}  // namespace eidolon::shim::nccl
