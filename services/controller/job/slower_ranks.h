// How long an iteration's ranks wait for the slowest GPU. GPUs of a job are average in the mean
// (services/agent/job/gpu_variation.h), so that it is by how much the kernels of the slowest one
// last longer than on an average one. A value.
#pragma once

namespace eidolon::controller::job {

struct SlowerRanks {
  double seconds = 0;
  double share = 0;  // Of the iteration.
};

}  // namespace eidolon::controller::job
