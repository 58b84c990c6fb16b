// What one GPU is: the facts an emulated device answers to queries and the rates the estimators
// use. A model is a YAML file; reading is strict, so that a typing error is a message and not a
// wrong prediction. What all GPUs have in common is in services/contract/machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/base/sim_time.h"

namespace eidolon::timing::gpu_model {

// Durations that follow from a launch's size alone, by integers of the model file: no estimator, no
// measurement and no calibration changes them. For tests of whatever uses durations; a prediction
// made of them says nothing of any GPU, so that they are assumed and the GPU's name begins with
// kFixedPrefix.
struct FixedDurations {
  base::Duration work;  // Of each kernel, library call and copy; and in addition:
  base::Duration wave;  // Kernels: for each wave of as many blocks as there are multiprocessors.
  std::uint64_t operations_per_second = 0;  // Library calls: for their operations,
  std::uint64_t bytes_per_second = 0;       // and for their bytes; copies, too.
  // Replace the costs of the fixed host model.
  base::Duration host_call;
  base::Duration host_operator;
  // Of each collective and each send; and for its bytes.
  base::Duration transfer;
  std::uint64_t transfer_bytes_per_second = 0;
};

// Watts, from which the power of work at its burst clock follows (model/power_model.h).
struct PowerFacts {
  double floor_watts = 0;  // Clocks are up and nothing runs.
  double held_share = 0;   // Of power_limit, what is drawn when the limit is reached.
  // Above the floor. Of work on matrix units, whatever it does; in addition at the whole peak rate;
  // and at the whole bandwidth.
  double matrix_watts = 0;
  double matrix_rate_watts = 0;
  double matrix_bytes_watts = 0;
  double memory_watts = 0;  // Of other work, at the whole bandwidth.
  // Of sustained_flops, what GEMMs reach at the burst clock.
  double burst_share = 1;
};

inline constexpr std::string_view kFixedPrefix = "fixed-";

struct GpuModel {
  std::string name;          // File and cluster name: "H100-SXM5-80GB".
  std::string product_name;  // As NVML prints it.
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t boost_clock_hz = 0;
  std::uint64_t sustained_clock_hz = 0;  // Under a long tensor-core load, within the power limit.
  std::uint64_t memory_clock_hz = 0;
  std::uint32_t memory_bus_bits = 0;
  std::uint64_t memory_bytes = 0;  // As cudaGetDeviceProperties reports.
  std::uint64_t memory_bytes_per_second = 0;
  double attained_memory_share = 0;  // Best share of the bandwidth that large kernels reach.
  std::uint64_t l2_bytes = 0;
  std::uint32_t copy_engines = 0;
  std::uint32_t max_threads_per_multiprocessor = 0;
  std::uint32_t max_blocks_per_multiprocessor = 0;
  std::uint32_t registers_per_multiprocessor = 0;
  std::uint64_t shared_bytes_per_multiprocessor = 0;
  std::uint64_t shared_bytes_per_block_optin = 0;
  std::uint32_t nvlink_count = 0;
  std::uint32_t nvlink_generation = 0;
  std::uint64_t nvlink_bytes_per_second = 0;  // All links, one direction.
  std::uint64_t pcie_bytes_per_second = 0;    // One direction, line rate.
  std::uint32_t power_limit_watts = 0;
  std::uint64_t context_bytes = 0;
  base::Duration launch_gap;  // End of a kernel to the start of the next of its stream.
  // The same between nodes of a CUDA graph; launch_gap where the file does not say.
  base::Duration graph_gap;
  // The same before a GEMM of a library; graph_gap where the file does not say.
  base::Duration gemm_graph_gap;
  base::Duration launch_latency;  // Launch call to the start on an idle stream.
  // What a kernel with work to do lasts at least; and one without any, kernel_floor where the file
  // does not say.
  base::Duration kernel_floor;
  base::Duration empty_kernel;
  // Share of sustained_flops that tensor-core GEMMs of usual shapes hold for seconds.
  double steady_product_share = 0;
  std::map<std::string, double> peak_flops;       // Dense, operations per second, by type.
  std::map<std::string, double> sustained_flops;  // Best sustained GEMM, by type.
  std::optional<FixedDurations> fixed;
  std::optional<PowerFacts> power;  // Nothing: no clock of this GPU follows its power.
  double clock_scale = 1;  // What the clocks and rates above are of the file's (at_clock.h).
};

// Returns what the chips of the GPU's memory draw at the whole bandwidth, whatever the clock of the
// multiprocessors: 3.9 pJ a bit (HBM2: O'Connor et al., "Fine-Grained DRAM: Energy-Efficient DRAM
// for Extreme Bandwidth Systems", MICRO 2017).
inline double MemoryChipWatts(const GpuModel& gpu) {
  constexpr double kJoulesPerByte = 3.9e-12 * 8;
  return kJoulesPerByte * static_cast<double>(gpu.memory_bytes_per_second);
}

// Returns what a kernel lasts whose parts, taken by themselves, need `work` seconds. Where an empty
// kernel was measured, what longer kernels last beyond their work grows with the work at first: a
// few elements need no more than an empty kernel and a look into L2.
double KernelSeconds(const GpuModel& gpu, double work);

// Parses one model file. `file` is only named in messages: "h100.yaml:12: ...".
base::Result<GpuModel> ParseGpuModel(std::string_view text, std::string_view file);

}  // namespace eidolon::timing::gpu_model
