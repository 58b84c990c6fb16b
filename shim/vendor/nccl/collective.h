// The collective and point-to-point calls: arguments checked as NCCL does, then one Operation each.
//
// NCCL itself never looks at sizes, and at buffers only with NCCL_CHECK_POINTERS=1: a kernel that
// leaves its buffer ends in an illegal access, or in another tensor's bytes. Here nothing would
// fault, so a buffer that is not all there is refused with ncclInvalidArgument, and a count whose
// bytes 64 bits cannot count as well.
//
// As in NCCL (taskAppend in src/enqueue.cc), a collective of no elements is dropped once its
// arguments are checked: it meets nobody, takes no turn, and the stream never hears of it. A send
// or receive of no elements is a task like any other.
#pragma once

#include <nccl.h>

#include <cstddef>

namespace eidolon::shim::nccl::collective {

ncclResult_t AllReduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream);
ncclResult_t AllGather(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       ncclComm_t comm, cudaStream_t stream);
ncclResult_t ReduceScatter(const void* input, void* output, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream);
ncclResult_t Broadcast(const void* input, void* output, std::size_t count, ncclDataType_t type,
                       int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t BroadcastInPlace(void* buffer, std::size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream);
ncclResult_t Reduce(const void* input, void* output, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t reduction, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t AllToAll(const void* input, void* output, std::size_t count, ncclDataType_t type,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t Gather(const void* input, void* output, std::size_t count, ncclDataType_t type,
                    int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t Scatter(const void* input, void* output, std::size_t count, ncclDataType_t type,
                     int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t Send(const void* input, std::size_t count, ncclDataType_t type, int peer,
                  ncclComm_t comm, cudaStream_t stream);
ncclResult_t Receive(void* output, std::size_t count, ncclDataType_t type, int peer,
                     ncclComm_t comm, cudaStream_t stream);

// Reductions that scale their inputs first. They are timed as sums; their results are not computed.
ncclResult_t CreatePreMulSum(ncclRedOp_t* reduction, void* scalar, ncclDataType_t type,
                             ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t DestroyReduction(ncclRedOp_t reduction, ncclComm_t comm);

}  // namespace eidolon::shim::nccl::collective
