// This is how long an iteration's ranks wait for the slowest GPU. GPUs of a job are average in the
// mean (services/agent/job/gpu_variation.h), so that it is by how much the kernels of the slowest
// one last longer than on an average one. A value.
#pragma once

#include <optional>

namespace eidolon::controller::job {

struct SlowerRanks {
  double seconds = 0;
  double share = 0;  // Of the iteration.
};

// `slowness`: of the slowest GPU, in an iteration of `length` seconds. Nothing where all are alike.
inline std::optional<SlowerRanks> SlowerRanksOf(double slowness, double length) {
  if (slowness == 0 || length <= 0) return std::nullopt;
  return SlowerRanks{.seconds = slowness, .share = slowness / length};
}

}  // namespace eidolon::controller::job
