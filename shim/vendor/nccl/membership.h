// Makes, splits, shrinks and ends NCCL communicators.
#pragma once

#include <nccl.h>

namespace eidolon::shim::nccl {

// Communicators asked for between ncclGroupStart and ncclGroupEnd are made together at the end:
// members of one process would otherwise wait for each other. Called by ncclGroupEnd.
ncclResult_t MakeQueuedCommunicators();
void DropQueuedCommunicators();

namespace communicator {

ncclResult_t GetVersion(int* version);
ncclResult_t GetUniqueId(ncclUniqueId* id);
ncclResult_t InitRank(ncclComm_t* result, int size, ncclUniqueId id, int rank);
ncclResult_t InitRankConfig(ncclComm_t* result, int size, ncclUniqueId id, int rank,
                            ncclConfig_t* config);
ncclResult_t InitRankScalable(ncclComm_t* result, int size, int rank, int id_count,
                              ncclUniqueId* ids, ncclConfig_t* config);
ncclResult_t InitAll(ncclComm_t* results, int count, const int* devices);
ncclResult_t Split(ncclComm_t parent, int color, int key, ncclComm_t* result, ncclConfig_t* config);
ncclResult_t Shrink(ncclComm_t parent, int* excluded, int excluded_count, ncclComm_t* result,
                    ncclConfig_t* config, int flags);
ncclResult_t Finalize(ncclComm_t handle);
ncclResult_t Destroy(ncclComm_t handle);
ncclResult_t Abort(ncclComm_t handle);
ncclResult_t Revoke(ncclComm_t handle, int flags);

}  // namespace communicator
}  // namespace eidolon::shim::nccl
