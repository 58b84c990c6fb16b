// What the GPUs of a job did and drew: matrix work, power and energy. Plain values.
#pragma once

#include <cstdint>

namespace eidolon::controller::job {

// What the GPUs' matrix units did.
struct MatrixRate {
  double flops_per_gpu = 0;     // In one iteration, or in the program; a mean over ranks that ran.
  double flops_per_second = 0;  // Of one GPU.
  double peak = 0;              // Of the GPU, dense bf16, operations per second; 0: not known.
};

// Of the GPUs' boards, without hosts and network.
struct Energy {
  double joules = 0;      // Of all GPUs of the job, in one iteration, or in the program.
  double per_unit = 0;    // Of a token, sample or iteration, as throughput counts; 0: not known.
  double mean_watts = 0;  // Of one GPU.
  double peak_watts = 0;  // Of any GPU, a mean over some 40 ms.
};

// Of one rank's GPU; zeros where its power is not known.
struct RankEnergy {
  std::uint64_t microjoules = 0;
  std::uint64_t peak_milliwatts = 0;
};

}  // namespace eidolon::controller::job
