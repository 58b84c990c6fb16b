#include "shim/nccl/collective.h"

#include <cstdint>

#include "shim/nccl/communicator.h"
#include "shim/nccl/group.h"

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

bool IsReductionValid(Communicator& communicator, int reduction) {
  if (reduction >= 0 && reduction < ncclNumOps) return true;
  const std::lock_guard lock(communicator.mutex);
  return communicator.custom_reductions.contains(reduction);
}

ncclResult_t Check(Communicator* communicator, const Call& call) {
  if (const auto result = CheckUsable(communicator); result != ncclSuccess) return result;
  if (WidthOf(call.type) == 0) {
    SetLastError(communicator, "invalid data type");
    return ncclInvalidArgument;
  }
  const bool has_peer = IsPointToPoint(call.kind) || call.kind == CommunicationKind::kBroadcast ||
                        call.kind == CommunicationKind::kReduce ||
                        call.kind == CommunicationKind::kGather ||
                        call.kind == CommunicationKind::kScatter;
  if (has_peer && (call.peer < 0 || call.peer >= communicator->size)) {
    SetLastError(communicator, "root or peer " + std::to_string(call.peer) +
                                   " is outside of the communicator's " +
                                   std::to_string(communicator->size) + " ranks");
    return ncclInvalidArgument;
  }
  if (!IsReductionValid(*communicator, call.reduction)) {
    SetLastError(communicator, "invalid reduction " + std::to_string(call.reduction));
    return ncclInvalidArgument;
  }
  return ncclSuccess;
}

// How much a rank reads and writes, and the bytes of the large buffer.
void Size(const Communicator& communicator, const Call& call, Operation& operation) {
  const auto one = static_cast<std::uint64_t>(call.count) * WidthOf(call.type);
  const auto all = one * static_cast<std::uint64_t>(communicator.size);
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
}

// Whether the call works inside one buffer, by NCCL's rule for its kind.
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

ncclResult_t Issue(const Call& call) {
  Communicator* communicator = Communicator::Find(call.comm);
  if (const auto result = Check(communicator, call); result != ncclSuccess) return result;
  if (call.count == 0 && !IsPointToPoint(call.kind)) return ncclSuccess;

  Operation operation;
  operation.op.kind = call.kind;
  operation.op.data_type = call.type;
  operation.op.reduction = static_cast<std::uint32_t>(call.reduction);
  operation.op.peer = call.peer;
  operation.op.count = call.count;
  operation.input = call.input;
  operation.output = call.output;
  Size(*communicator, call, operation);
  const bool missing_input = operation.input_bytes > 0 && call.input == nullptr;
  const bool missing_output = operation.output_bytes > 0 && call.output == nullptr;
  if (missing_input || missing_output) {
    SetLastError(communicator, "a buffer is null");
    return ncclInvalidArgument;
  }
  operation.op.in_place = IsInPlace(*communicator, call, operation) ? 1 : 0;
  return Enqueue(*communicator, call.stream, operation);
}

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
  communicator->custom_reductions.insert(number);
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
