// Limits how much of a node the pods of jobs may take, and the memory of their tmpfs volumes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "services/controller/job/resolve.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::reconcile {

// Returns the resources of the container of an emulated server. `pods` is spec.podTemplate of the
// job: its resources take the place of all others.
nlohmann::json ServerResources(const job::ResolvedJob& resolved, const nlohmann::json& pods,
                               const Settings& settings);

// The size of each of a pod's tmpfs volumes; 0: no limit. What lies in them counts as memory of the
// container, so each may fill half of its limit, as a Linux machine lets /dev/shm: a program that
// writes too much is told so before the kernel kills it.
std::uint64_t TmpfsBytes(const job::ResolvedJob& resolved, const nlohmann::json& pods,
                         const Settings& settings);

}  // namespace eidolon::controller::reconcile
