// Operations of a group are batched by communicator and stream, and each batch is one record of the
// ring; batches of one group share a number, by which the agent knows that they start together.
// Sequence numbers are what pairs a rank's operation with those of other ranks. They are given when
// the record is written, under `issuing`, and not when the call is made, so that operations of a
// refused group take none. Ending a communicator takes the same lock, so that no operation follows
// the end.
//
// While a stream is captured, numbers and values stay out of the record, since each replay needs
// new ones; the agent gives the numbers, and outputs are forgotten at each replay. Values are noted
// after the record is in the ring, because fetching a result asks for an operation that the agent
// has to know.
#include "shim/vendor/nccl/group.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/work.h"
#include "shim/core/python_line.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/submit.h"
#include "shim/gpu/stream/submit_from.h"
#include "shim/value/pending.h"
#include "shim/vendor/library/work.h"
#include "shim/vendor/nccl/buffers.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group_state.h"
#include "shim/vendor/nccl/membership.h"
#include "shim/vendor/nccl/values.h"

namespace eidolon::shim::nccl {
namespace {

using ring::CommunicationKind;

bool IsPointToPoint(const Operation& operation) {
  return operation.op.kind == CommunicationKind::kSend ||
         operation.op.kind == CommunicationKind::kReceive;
}

// A communicator of one rank moves no data between GPUs: what is left is a copy. A scaled sum
// changes the values too, which are not computed.
ncclResult_t CopyAlone(cudaStream_t stream, const Operation& operation) {
  if (operation.output_bytes == 0 || operation.input_bytes == 0) return ncclSuccess;
  const bool is_scaled = ring::Reduces(operation.op) && operation.op.reduction >= ncclNumOps;
  if (operation.input == operation.output && !is_scaled) return ncclSuccess;
  workload::Copy work{};
  work.kind = workload::CopyKind::kDeviceToDevice;
  work.bytes = work.row_bytes = operation.output_bytes;
  if (gpu::Submit(stream, std::as_bytes(std::span(&work, 1))) != gpu::Status::kSuccess) {
    return ncclUnhandledCudaError;
  }
  library::AfterWork(stream, [target = reinterpret_cast<std::uint64_t>(operation.output),
                              source = reinterpret_cast<std::uint64_t>(operation.input),
                              bytes = operation.output_bytes, is_scaled] {
    if (is_scaled) {
      value::ProcessPending().Forget(target, bytes, value::kByCollective);
    } else {
      value::ProcessPending().Copy(target, source, bytes);
    }
  });
  return ncclSuccess;
}

// On a communicator of one rank, each receive takes the buffer of the send that it belongs to, in
// the order of the calls, and is a copy from then on.
ncclResult_t PairWithSelf(std::span<Batch> batches) {
  struct Waiting {
    std::vector<Operation*> sends;
    std::vector<Operation*> receives;
  };
  std::map<Communicator*, Waiting> alone;
  for (Batch& batch : batches) {
    if (batch.communicator->size != 1) continue;
    Waiting& waiting = alone[batch.communicator];
    for (Operation& operation : batch.operations) {
      if (operation.op.kind == CommunicationKind::kSend) waiting.sends.push_back(&operation);
      if (operation.op.kind == CommunicationKind::kReceive) waiting.receives.push_back(&operation);
    }
  }
  for (auto& [communicator, waiting] : alone) {
    if (waiting.sends.size() != waiting.receives.size()) {
      SetLastError(communicator,
                   "sends and receives of the rank itself do not match within the group");
      return ncclInvalidUsage;
    }
    for (std::size_t i = 0; i < waiting.sends.size(); ++i) {
      Operation& receive = *waiting.receives[i];
      receive.input = waiting.sends[i]->input;
      receive.output_bytes = std::min(receive.output_bytes, waiting.sends[i]->input_bytes);
      receive.input_bytes = receive.output_bytes;
    }
  }
  return ncclSuccess;
}

bool BookBuffers(Communicator& communicator, const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    const bool booked = IsPointToPoint(operation) ? BookPeerBuffers(communicator, operation.op.peer)
                                                  : BookCollectiveBuffers(communicator);
    if (!booked) return false;
  }
  return true;
}

// Numbers are given when a record is written; replays of a captured graph get theirs from the
// agent.
void Number(Communicator& communicator, std::vector<Operation>& operations) {
  const std::lock_guard lock(communicator.mutex);
  for (Operation& operation : operations) {
    switch (operation.op.kind) {
      case CommunicationKind::kSend:
        operation.op.sequence = communicator.next_send[operation.op.peer]++;
        break;
      case CommunicationKind::kReceive:
        operation.op.sequence = communicator.next_receive[operation.op.peer]++;
        break;
      default:
        operation.op.sequence = communicator.next_collective++;
        break;
    }
  }
}

// A default stream is that of the communicator's device, whichever is current when a group ends.
class OnDevice {
 public:
  explicit OnDevice(int device) : before_(gpu::CurrentDevice()) {
    if (device != before_) gpu::SetDevice(device);
  }
  ~OnDevice() {
    if (gpu::CurrentDevice() != before_) gpu::SetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_;
};

// The program's line, where somebody may have to be told it: ranks of a folded job that are taken
// to be alike are compared.
std::string CallSite() {
  core::Session* session = core::Session::Existing();
  if (session == nullptr || session->header().folded_ranks == 0) return "";
  return core::PythonLine();
}

ncclResult_t IssueBatch(Batch& batch, std::uint32_t group) {
  Communicator& communicator = *batch.communicator;
  const OnDevice scope(communicator.device);
  const std::lock_guard lock(communicator.issuing);
  // A watchdog thread may have aborted it since the call was checked.
  if (const auto result = CheckUsable(&communicator); result != ncclSuccess) return result;
  if (communicator.size == 1) {
    for (const Operation& operation : batch.operations) {
      if (const auto result = CopyAlone(batch.stream, operation); result != ncclSuccess) {
        return result;
      }
    }
    return ncclSuccess;
  }
  if (!BookBuffers(communicator, batch.operations)) {
    SetLastError(&communicator, "out of device memory for NCCL's buffers");
    return ncclUnhandledCudaError;
  }
  const bool capturing = gpu::IsCapturing(batch.stream);
  std::vector<std::byte> payload;
  if (!capturing) {
    for (Operation& operation : batch.operations) AttachInput(operation, payload);
    Number(communicator, batch.operations);
  }
  std::vector<ring::CommunicationOp> ops;
  ops.reserve(batch.operations.size());
  for (const Operation& operation : batch.operations) {
    ops.push_back(operation.op);
    // As the record says: a custom operator is timed as a sum.
    if (ops.back().reduction >= ncclNumOps) ops.back().reduction = ncclSum;
  }
  const gpu::Status status =
      gpu::SubmitCommunicationFrom(CallSite(), batch.stream, communicator.id, group, ops, payload);
  if (status != gpu::Status::kSuccess) {
    SetLastError(&communicator, "the stream takes no work");
    return ncclUnhandledCudaError;
  }
  for (const Operation& operation : batch.operations) {
    if (capturing) {  // Replays take no values along.
      library::NoteWritten(batch.stream, operation.output, operation.output_bytes);
    } else {
      NoteOutput(communicator, operation);
    }
  }
  return ncclSuccess;
}

std::uint32_t NewGroupNumber() {
  core::Session* session = core::Session::Get();
  return session == nullptr ? 0 : session->NewId();
}

}  // namespace

ncclResult_t Enqueue(Communicator& communicator, cudaStream_t stream, const Operation& operation) {
  if (InGroup()) {
    QueueInGroup(communicator, stream, operation);
    return ncclSuccess;
  }
  Batch batch{&communicator, stream, {operation}};
  if (const auto result = PairWithSelf({&batch, 1}); result != ncclSuccess) return result;
  return IssueBatch(batch, 0);
}

namespace group {

ncclResult_t Start() {
  EnterGroup();
  return ncclSuccess;
}

ncclResult_t End() {
  if (!InGroup()) {
    SetLastError(nullptr, "ncclGroupEnd without ncclGroupStart");
    return ncclInvalidUsage;
  }
  LeaveGroup();
  if (InGroup()) return ncclSuccess;
  std::vector<Batch> batches = TakeQueuedOperations();
  if (const ncclResult_t failure = TakeGroupFailure(); failure != ncclSuccess) {
    DropQueuedCommunicators();
    return failure;
  }
  if (const auto result = MakeQueuedCommunicators(); result != ncclSuccess) return result;
  if (const auto result = PairWithSelf(batches); result != ncclSuccess) return result;
  const std::uint32_t number = batches.size() > 1 ? NewGroupNumber() : 0;
  for (Batch& batch : batches) {
    if (const auto result = IssueBatch(batch, number); result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

}  // namespace group
}  // namespace eidolon::shim::nccl
