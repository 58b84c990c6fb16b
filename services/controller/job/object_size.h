// How large objects of Kubernetes may be. etcd takes 1.5 MiB at a time, and an object holds more
// than its spec: a status that repeats parts of it, conditions, and who manages which field. What
// is larger than these limits could be created, but its status never written.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/job/problem.h"

namespace eidolon::controller::job {

// Limit of the spec of a job, as JSON. Its pods and the status have the most of it again.
inline constexpr std::size_t kJobSpecBytesMax = std::size_t{256} << 10;
// Of a cluster, whose status has it again, with every field: so have the jobs on it.
inline constexpr std::size_t kClusterSpecBytesMax = std::size_t{384} << 10;
// Of a sweep's matrix, multiplied out: the status has the values of every point.
inline constexpr std::size_t kPointsBytesMax = std::size_t{256} << 10;
// Limit of the message of a condition.
inline constexpr std::size_t kMessageBytesMax = std::size_t{16} << 10;

// Returns the size of a value as JSON.
std::size_t SizeOf(const nlohmann::json& value);
// Reports a spec that is larger than `bytes_max`, with its largest field.
void CheckSpecSize(const nlohmann::json& document, std::size_t bytes_max, Problems* problems);

}  // namespace eidolon::controller::job
