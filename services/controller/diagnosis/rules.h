// The rules of the diagnosis: one function for each fault. Nothing where the prediction does not
// show it.
#pragma once

#include <optional>

#include "services/controller/diagnosis/facts.h"
#include "services/controller/job/finding.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::diagnosis {

// GPUs wait for their hosts while these work.
std::optional<job::Finding> HostBound(const Facts& facts);
// GPUs wait for hosts that wait themselves: for a data loader's workers, a disk, a moment.
std::optional<job::Finding> InputBound(const Facts& facts);

// Communication that no computation hides, without what the next two rules explain.
std::optional<job::Finding> CommunicationBound(const Facts& facts,
                                               const job::Prediction& prediction);
// Sends and receives that mostly wait: stages of a pipeline without work.
std::optional<job::Finding> PipelineBubbles(const Facts& facts, const job::Prediction& prediction);
// One rank does more than the others, which wait for it.
std::optional<job::Finding> Stragglers(const Facts& facts, const job::Prediction& prediction);

// Kernels that move much and compute little.
std::optional<job::Finding> MemoryBoundKernels(const Facts& facts,
                                               const job::Prediction& prediction);
// GEMMs with less work than it costs a host to launch them.
std::optional<job::Finding> SmallGemms(const Facts& facts, const job::Prediction& prediction);

// The fullest rank has hardly any memory left.
std::optional<job::Finding> FullMemory(const job::Prediction& prediction);
// Memory is left for a larger batch, over which fixed costs are spread.
std::optional<job::Finding> RoomForABatch(const job::Prediction& prediction);

// What is left when no rule finds a fault: the GPUs are busy with what they have to do.
job::Finding ComputeBound(const Facts& facts, const job::Prediction& prediction);

}  // namespace eidolon::controller::diagnosis
