// Real bytes travel only as far as programs look at them: losses, sizes, pickled objects, small
// models. An input that is known goes along with the record, and the result is fetched when it is
// read. The sizes that are free are bounded for each kind of operation; beyond them a budget of the
// process is spent, so that a job whose values are never read cannot pay for ever.
//
// Limits are compared with op.bytes too, which is equal on all ranks of a collective, so that all
// come to the same answer; the budget and what is known may still differ. A rank that attached
// nothing forgets its output, unless the values come from others alone (a broadcast's receiver). An
// object in a padded buffer is sent with its padding, which goes as zeros.
#include "shim/vendor/nccl/values.h"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "services/contract/collective/values.h"
#include "services/contract/ring/layout.h"
#include "shim/value/object.h"
#include "shim/value/pending.h"
#include "shim/value/plausible.h"
#include "shim/value/store.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/operation.h"

namespace eidolon::shim::nccl {
namespace {

using ring::CommunicationKind;

// All of a record's payload, so that a record of many small operations stays within its limit.
constexpr std::size_t kRecordPayloadBytes = ring::kPayloadBytes;

std::uint64_t Address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Bytes of values that a process may send and receive beyond ring::ValueBytesMax: weights and
// gradients of small models, some steps long. To know whether they are known means to compute them,
// step for step, which a job that nobody reads values of must not pay for without an end.
constexpr std::int64_t kBudgetBytes = 64 << 20;
std::atomic<std::int64_t> budget_bytes{kBudgetBytes};

// Sends and receives of more spend from the budget, whatever their type: keys and values in FP8
// that go around a ring of ranks are bytes as pickled objects are, and each rank would wait, until
// the whole job rests, for what it passes on.
constexpr std::uint64_t kFreeTransferBytes = 64 << 10;

// True when all buffers of the operation are so small that it carries values for nothing.
bool IsFree(const ring::CommunicationOp& op, std::uint64_t bytes) {
  const bool is_transfer =
      op.kind == CommunicationKind::kSend || op.kind == CommunicationKind::kReceive;
  const std::uint64_t most = ring::ValueBytesMax(op);
  return std::max(bytes, op.bytes) <= (is_transfer ? std::min(most, kFreeTransferBytes) : most);
}

// True when the operation may carry values, if need be out of the budget.
bool MayCarry(const ring::CommunicationOp& op, std::uint64_t bytes) {
  if (bytes == 0 || std::max(bytes, op.bytes) > ring::kPayloadBytes) return false;
  return IsFree(op, bytes) || budget_bytes.load(std::memory_order_relaxed) > 0;
}

void Spend(const ring::CommunicationOp& op, std::uint64_t bytes) {
  if (IsFree(op, bytes)) return;
  budget_bytes.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

// Results of custom reductions (scaled sums) are not computed, and rounding of narrow floats is
// NCCL's own.
bool IsComputable(const ring::CommunicationOp& op) {
  return !ring::Reduces(op) || (op.reduction < ncclNumOps && op.data_type < ncclFloat8e4m3);
}

bool MayMoveObjects(const ring::CommunicationOp& op) {
  return ::eidolon::collective::IsByte(op.data_type) &&
         (op.kind == CommunicationKind::kAllGather || op.kind == CommunicationKind::kGather ||
          op.kind == CommunicationKind::kScatter || op.kind == CommunicationKind::kBroadcast ||
          op.kind == CommunicationKind::kSend || op.kind == CommunicationKind::kReceive);
}

// Returns how many bytes of a pickled object, with padding behind it, are known; 0 when it is none.
std::uint64_t KnownOfPaddedObject(const ring::CommunicationOp& op, std::uint64_t address,
                                  std::uint64_t bytes) {
  value::Store& store = value::ProcessStore();
  const std::uint64_t known = std::min(store.KnownRun(address), bytes);
  if (!MayMoveObjects(op) || known < value::kShortestPickle) return 0;
  std::array<std::byte, 2> head;
  store.Read(address, head.data(), head.size());
  return value::StartsLikeAPickle(head) ? known : 0;
}

// Of each object in a result: gathered ones follow each other.
std::size_t ObjectBytes(const Communicator& communicator, const Operation& operation) {
  if (!MayMoveObjects(operation.op)) return 0;
  const bool gathers = operation.op.kind == CommunicationKind::kAllGather ||
                       operation.op.kind == CommunicationKind::kGather;
  const auto members = static_cast<std::uint64_t>(communicator.size);
  return gathers ? operation.output_bytes / members : operation.output_bytes;
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
  const ring::CommunicationOp& op = operation.op;
  if (!MayCarry(op, bytes) || !IsComputable(op)) return;
  if (payload.size() + bytes > kRecordPayloadBytes) return;
  value::Pending& values = value::ProcessPending();
  const std::uint64_t address = Address(operation.input);
  const bool is_known = values.IsKnown(address, bytes) ||
                        (value::ProvideInvented(value::ProcessStore(), address, bytes) &&
                         values.IsKnown(address, bytes));
  const std::uint64_t known = is_known ? bytes : KnownOfPaddedObject(operation.op, address, bytes);
  if (known == 0) return;
  const std::size_t offset = payload.size();
  payload.resize(offset + bytes);
  value::ProcessStore().Read(address, payload.data() + offset, known);
  operation.op.payload_bytes = static_cast<std::uint32_t>(bytes);
  Spend(op, bytes);
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
  const bool from_others = OutputDependsOnOthersOnly(communicator, op);
  // What was attached is paid for.
  const bool may_be_known = op.payload_bytes > 0 ? std::max(bytes, op.bytes) <= ring::kPayloadBytes
                                                 : from_others && MayCarry(op, bytes);
  if (!may_be_known || !IsComputable(op)) {
    values.Forget(target, bytes, value::kByCollective);
    return;
  }
  if (op.payload_bytes == 0) Spend(op, bytes);
  const std::uint64_t sequence = op.kind == CommunicationKind::kReceive
                                     ? ring::ReceiveValues(op.peer, op.sequence)
                                     : op.sequence;
  values.AwaitCollective(communicator.id, sequence, target, bytes,
                         ObjectBytes(communicator, operation));
}

}  // namespace eidolon::shim::nccl
