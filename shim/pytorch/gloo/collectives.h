// Gloo's collectives in groups with mirrored ranks: live members exchange what they give, each
// makes what mirrored ranks would have given (inputs.h), and the result counts every member. A
// mirrored rank receives nothing.
#pragma once

#include <memory>

#include "shim/pytorch/gloo/group.h"
#include "shim/pytorch/gloo/options.h"

namespace eidolon::shim::gloo {

// Each returns when this member's part is done, and ends the job when a mirrored rank is the root
// of what only it has. Requires: the group is that of the options' context, and has mirrored ranks.
using GroupPointer = std::shared_ptr<const Group>;
void AllGather(const GroupPointer& group, const AllGatherOptions& options);
void AllGatherv(const GroupPointer& group, const AllGathervOptions& options);
void AllReduce(const GroupPointer& group, const AllReduceOptions& options);
void AllToAll(const GroupPointer& group, const AllToAllOptions& options);
void AllToAllv(const GroupPointer& group, const AllToAllvOptions& options);
void Barrier(const GroupPointer& group, const BarrierOptions& options);
void Broadcast(const GroupPointer& group, const BroadcastOptions& options);
void Gather(const GroupPointer& group, const GatherOptions& options);
void Reduce(const GroupPointer& group, const ReduceOptions& options);
void Scatter(const GroupPointer& group, const ScatterOptions& options);

}  // namespace eidolon::shim::gloo
