// The collective and point-to-point calls: arguments checked as NCCL does, then one Operation each.
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
