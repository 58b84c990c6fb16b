// Explains why one job's predicted time differs from another's: what each part of the difference
// comes from, in a sentence, with the fields of both documents that it was read from.
//
// The parts of the breakdown make up an iteration, so their differences make up the difference.
// Computation is taken apart further by kernels: those that only one job has, launches more or
// less, and launches that take longer or shorter. What no kernel accounts for is said as well.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>

namespace eidolon::controller::shown {

// The two documents beside each other; `fields` and `times` are those of CompareJobs.
struct Compared {
  std::array<const nlohmann::json*, 2> jobs;
  std::array<const nlohmann::json*, 2> times;  // Null: none is predicted.
  const nlohmann::json* fields = nullptr;
};

// Null unless both predict a time of the same kind, else:
//   difference   seconds that the second takes more
//   causes       cause, seconds, share of the difference (missing when there is none), sentence,
//                first and second (paths in the documents), settings (paths of `fields` that bear
//                on it); those that weigh most first
//   unexplained  seconds and share that no cause accounts for, and a sentence
//   memory       bytes that the second's peak is higher, and a sentence; missing when it is the
//   same
// The seconds of causes and of what is unexplained add up to the difference.
nlohmann::json ExplainDifference(const Compared& compared);

}  // namespace eidolon::controller::shown
