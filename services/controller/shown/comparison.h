// Two jobs beside each other: what is predicted, where the time goes, which kernels and which
// fields differ. Documents of another version never fail; what they do not tell is left out.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace eidolon::controller::shown {

// Returns the document that `eidolon compare -o json` prints:
//   jobs         name, namespace, phase, reason, gpu, servers, ranks of the first and the second
//   time         first, second (what: iteration or program; mean, low, high); speedup, bandsOverlap
//   figures, breakdown, memory      rows
//   kernels, collectives            rows of those that differ, the largest difference first
//   fields                          path, first, second of what differs in spec and cluster
//   why                             what the difference of times comes from: comparison_causes.h
// A row has a name, first, second, and change, the second relative to the first less one. A value
// that a job does not have is missing. Times of kernels are busy seconds of an iteration and rank.
nlohmann::json CompareJobs(const nlohmann::json& first, const nlohmann::json& second);

}  // namespace eidolon::controller::shown
