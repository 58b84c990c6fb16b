// Whether the calling thread is between ncclGroupStart and ncclGroupEnd, and what failed there.
#pragma once

#include <nccl.h>

namespace eidolon::shim::nccl {

// Gives the result back. A call that fails inside a group spoils it: its end gives the first such
// result, and nothing that was queued happens.
ncclResult_t NoteInGroup(ncclResult_t result);

// True between ncclGroupStart and ncclGroupEnd on the calling thread.
bool InGroup();

// One level deeper; one level up again. Requires for LeaveGroup: InGroup.
void EnterGroup();
void LeaveGroup();
// The first failure since the outermost start; forgets it.
ncclResult_t TakeGroupFailure();

}  // namespace eidolon::shim::nccl
