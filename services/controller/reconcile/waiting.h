// Describes what a job waits for whose agents are not all there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {

// Why pods that are wanted have no place; nothing when they have, or nobody has said so yet.
// `agents`: how many the job has.
std::optional<PodRefusal> FindWaiting(const RunFacts& run, std::span<const PodState> pods,
                                      std::size_t agents);

// Describes for people, with the first pod that says why it does not run.
std::string DescribeWaiting(std::span<const PodState> pods, std::size_t agents);

}  // namespace eidolon::controller::reconcile
