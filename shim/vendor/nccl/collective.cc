// NCCL's calls differ in what "count" means: the elements of one rank's part, or of all parts. Size
// turns each into three numbers: what this rank reads, what it writes, and op.bytes, the larger
// buffer of the collective, which is the same on every rank. Timing and the limits for carrying
// values use the last one, because both must come out equal on all ranks.
//
// The checks end before anything is queued: a refused call takes no sequence number, and a group
// that it belongs to fails with it. Being in place has a rule for each kind, as gathers and
// scatters use the rank's part of the large buffer.
#include "shim/vendor/nccl/collective.h"

#include <cstdint>
#include <string>
#include <utility>

#include "shim/gpu/allocation/pointer.h"
#include "shim/gpu/copy/reach.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group.h"
#include "shim/vendor/nccl/group_state.h"

namespace eidolon::shim::nccl::collective {
namespace {

using ring::CommunicationKind;

std::uint64_t WidthOf(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

struct Call {
  CommunicationKind kind;
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  int peer = -1;
  int reduction = ncclSum;
};

bool IsPointToPoint(CommunicationKind kind) {
  return kind == CommunicationKind::kSend || kind == CommunicationKind::kReceive;
}

ncclResult_t Refuse(Communicator& communicator, std::string sentence) {
  SetLastError(&communicator, std::move(sentence));
  return ncclInvalidArgument;
}

bool IsReductionValid(Communicator& communicator, int reduction) {
  if (reduction >= 0 && reduction < ncclNumOps) return true;
  const std::lock_guard lock(communicator.mutex);
  return communicator.custom_reductions.contains(reduction);
}

// A reduction of the program's own works on the type that it was made for.
bool IsReductionOfType(Communicator& communicator, int reduction, ncclDataType_t type) {
  if (reduction < ncclNumOps) return true;
  const std::lock_guard lock(communicator.mutex);
  return communicator.custom_reductions.at(reduction) == type;
}

ncclResult_t Check(Communicator* communicator, const Call& call) {
  if (const auto result = CheckUsable(communicator); result != ncclSuccess) return result;
  if (WidthOf(call.type) == 0) return Refuse(*communicator, "invalid data type");
  const bool has_peer = IsPointToPoint(call.kind) || call.kind == CommunicationKind::kBroadcast ||
                        call.kind == CommunicationKind::kReduce ||
                        call.kind == CommunicationKind::kGather ||
                        call.kind == CommunicationKind::kScatter;
  if (has_peer && (call.peer < 0 || call.peer >= communicator->size)) {
    return Refuse(*communicator, "root or peer " + std::to_string(call.peer) +
                                     " is outside of the communicator's " +
                                     std::to_string(communicator->size) + " ranks");
  }
  if (!IsReductionValid(*communicator, call.reduction)) {
    return Refuse(*communicator, "invalid reduction " + std::to_string(call.reduction));
  }
  return ncclSuccess;
}

// Returns how much a rank reads and writes, and the bytes of the large buffer. False when 64 bits
// cannot count the bytes of all ranks.
bool Size(const Communicator& communicator, const Call& call, Operation& operation) {
  std::uint64_t one = 0;
  std::uint64_t all = 0;
  if (__builtin_mul_overflow(call.count, WidthOf(call.type), &one) ||
      __builtin_mul_overflow(one, static_cast<std::uint64_t>(communicator.size), &all)) {
    return false;
  }
  const bool root = call.peer == communicator.rank;
  operation.op.bytes = one;
  operation.input_bytes = operation.output_bytes = one;
  switch (call.kind) {
    case CommunicationKind::kAllReduce:
      break;
    case CommunicationKind::kBroadcast:
      if (!root) operation.input_bytes = 0;
      break;
    case CommunicationKind::kReduce:
      if (!root) operation.output_bytes = 0;
      break;
    case CommunicationKind::kAllGather:
      operation.op.bytes = operation.output_bytes = all;
      break;
    case CommunicationKind::kReduceScatter:
      operation.op.bytes = operation.input_bytes = all;
      break;
    case CommunicationKind::kAllToAll:
      operation.op.bytes = operation.input_bytes = operation.output_bytes = all;
      break;
    case CommunicationKind::kGather:
      operation.op.bytes = all;
      operation.output_bytes = root ? all : 0;
      break;
    case CommunicationKind::kScatter:
      operation.op.bytes = all;
      operation.input_bytes = root ? all : 0;
      break;
    case CommunicationKind::kSend:
      operation.output_bytes = 0;
      break;
    case CommunicationKind::kReceive:
      operation.input_bytes = 0;
      break;
  }
  return true;
}

// Empty when the GPU reaches all bytes of the buffer.
std::string WrongWith(const char* which, const void* buffer, std::uint64_t bytes) {
  if (bytes == 0) return {};
  const std::string name = std::string("the ") + which + " buffer";
  if (buffer == nullptr) return name + " is null";
  const gpu::PointerInfo info = gpu::Inspect(buffer);
  if (info.kind == gpu::PointerKind::kUnregistered) {
    return name + " is not memory that the GPU reaches (not allocated, or freed)";
  }
  if (gpu::HoldsBytes(info, buffer, bytes)) return {};
  const std::uint64_t left = info.begin + info.bytes - reinterpret_cast<std::uint64_t>(buffer);
  return name + " has " + std::to_string(left) + " bytes to the end of its allocation, of " +
         std::to_string(bytes) + " that the call touches";
}

ncclResult_t CheckBuffers(Communicator& communicator, const Operation& operation) {
  for (const std::string& wrong :
       {WrongWith("send", operation.input, operation.input_bytes),
        WrongWith("receive", operation.output, operation.output_bytes)}) {
    if (!wrong.empty()) return Refuse(communicator, wrong);
  }
  return ncclSuccess;
}

// Returns whether the call works inside one buffer, by NCCL's rule for its kind.
bool IsInPlace(const Communicator& communicator, const Call& call, const Operation& operation) {
  const auto* input = static_cast<const char*>(call.input);
  const auto* output = static_cast<const char*>(call.output);
  const auto offset = static_cast<std::uint64_t>(communicator.rank);
  switch (call.kind) {
    case CommunicationKind::kAllGather:
    case CommunicationKind::kGather:
      return input == output + offset * operation.input_bytes;
    case CommunicationKind::kReduceScatter:
    case CommunicationKind::kScatter:
      return output == input + offset * operation.output_bytes;
    default:
      return input == output;
  }
}

ncclResult_t CheckAndEnqueue(const Call& call) {
  Communicator* communicator = Communicator::Find(call.comm);
  if (const auto result = Check(communicator, call); result != ncclSuccess) return result;
  if (call.count == 0 && !IsPointToPoint(call.kind)) return ncclSuccess;
  if (!IsReductionOfType(*communicator, call.reduction, call.type)) {
    return Refuse(*communicator, "the reduction was made for another data type");
  }

  Operation operation;
  operation.op.kind = call.kind;
  operation.op.data_type = call.type;
  operation.op.reduction = static_cast<std::uint32_t>(call.reduction);
  operation.op.peer = call.peer;
  operation.op.count = call.count;
  operation.input = call.input;
  operation.output = call.output;
  if (!Size(*communicator, call, operation)) {
    return Refuse(*communicator, std::to_string(call.count) + " elements on each of " +
                                     std::to_string(communicator->size) +
                                     " ranks are more bytes than can be counted");
  }
  const ncclResult_t buffers = CheckBuffers(*communicator, operation);
  if (buffers != ncclSuccess) return buffers;
  operation.op.in_place = IsInPlace(*communicator, call, operation) ? 1 : 0;
  return Enqueue(*communicator, call.stream, operation);
}

ncclResult_t Issue(const Call& call) { return NoteInGroup(CheckAndEnqueue(call)); }

}  // namespace

ncclResult_t AllReduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kAllReduce,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .reduction = reduction});
}

ncclResult_t AllGather(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kAllGather,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream});
}

ncclResult_t ReduceScatter(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kReduceScatter,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .reduction = reduction});
}

ncclResult_t Broadcast(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       int root, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kBroadcast,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = root});
}

ncclResult_t BroadcastInPlace(void* buffer, std::size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream) {
  return Broadcast(buffer, buffer, count, type, root, comm, stream);
}

ncclResult_t Reduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t reduction, int root, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kReduce,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = root,
                .reduction = reduction});
}

ncclResult_t AllToAll(const void* input, void* output, std::size_t count, ncclDataType_t type,
                      ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kAllToAll,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream});
}

ncclResult_t Gather(const void* input, void* output, std::size_t count, ncclDataType_t type,
                    int root, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kGather,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = root});
}

ncclResult_t Scatter(const void* input, void* output, std::size_t count, ncclDataType_t type,
                     int root, ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kScatter,
                .input = input,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = root});
}

ncclResult_t Send(const void* input, std::size_t count, ncclDataType_t type, int peer,
                  ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kSend,
                .input = input,
                .output = nullptr,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = peer});
}

ncclResult_t Receive(void* output, std::size_t count, ncclDataType_t type, int peer,
                     ncclComm_t comm, cudaStream_t stream) {
  return Issue({.kind = CommunicationKind::kReceive,
                .input = nullptr,
                .output = output,
                .count = count,
                .type = type,
                .comm = comm,
                .stream = stream,
                .peer = peer});
}

ncclResult_t CreatePreMulSum(ncclRedOp_t* reduction, void* scalar, ncclDataType_t type,
                             ncclScalarResidence_t, ncclComm_t comm) {
  Communicator* communicator = Communicator::Find(comm);
  if (const auto result = CheckUsable(communicator); result != ncclSuccess) return result;
  if (reduction == nullptr || scalar == nullptr || WidthOf(type) == 0) return ncclInvalidArgument;
  const std::lock_guard lock(communicator->mutex);
  const int number = communicator->next_custom_reduction++;
  communicator->custom_reductions.emplace(number, type);
  *reduction = static_cast<ncclRedOp_t>(number);
  return ncclSuccess;
}

ncclResult_t DestroyReduction(ncclRedOp_t reduction, ncclComm_t comm) {
  Communicator* communicator = Communicator::Find(comm);
  if (communicator == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(communicator->mutex);
  return communicator->custom_reductions.erase(reduction) == 1 ? ncclSuccess : ncclInvalidArgument;
}

}  // namespace eidolon::shim::nccl::collective
