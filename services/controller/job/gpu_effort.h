// Effort is what the GPUs of a job did and drew: matrix work, power and energy.
#pragma once

#include <cstdint>
#include <optional>

namespace eidolon::controller::job {

// A rate is what the GPUs' matrix units did.
struct MatrixRate {
  double flops_per_gpu = 0;     // In one iteration, or in the program; a mean over ranks that ran.
  double flops_per_second = 0;  // Of one GPU.
  double peak = 0;              // Of the GPU, dense bf16, operations per second; 0: not known.
};

// Energy is that of the GPUs' boards, without hosts and network.
struct Energy {
  double joules = 0;      // Of all GPUs of the job, in one iteration, or in the program.
  double per_unit = 0;    // Of a token, sample or iteration, as throughput counts; 0: not known.
  double mean_watts = 0;  // Of one GPU.
  double peak_watts = 0;  // Of any GPU, a mean over some 40 ms.
};

// These are of one rank's GPU and are zero where its power is not known.
struct RankEnergy {
  std::uint64_t microjoules = 0;
  std::uint64_t peak_milliwatts = 0;
};

// What ranks did in iterations of equal length, or in a program, added up.
struct GpuEffort {
  std::uint64_t matrix_flops = 0;
  RankEnergy energy;   // A sum, and a maximum.
  double runs = 0;     // How many iterations (or programs) of one rank are added up.
  double seconds = 0;  // Of each.
};

// Nothing without matrix work. `peak`: of a GPU, operations per second; 0: not known.
std::optional<MatrixRate> MatrixRateOf(const GpuEffort& effort, double peak);

// Of `gpus` GPUs: ranks without a process are taken to draw what the others do on average. `units`:
// tokens, samples or iterations in `seconds`; 0: not known. Nothing where no power is known.
std::optional<Energy> EnergyOf(const GpuEffort& effort, double gpus, double units);

}  // namespace eidolon::controller::job
