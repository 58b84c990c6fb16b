// GEMM times of measured GPUs carried to a GPU without rows of its own. A formula of whole waves of
// tiles, with sums split where tiles are few, and of memory behind L2 gives the time by a GPU's
// model file alone; how the measured times of other GPUs differ from it carries over.
//
// Fitted and tested without the GPU in question: docs/reference/generated/kernel_times.md, "GPUs
// that were left out".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/model/measured_gemms.h"

namespace eidolon::timing::model {

struct TransferConstants {
  double fixed_clocks = 0;        // Of the kernel.
  double wave_clocks = 0;         // To fill and drain a wave of tiles.
  double split_clocks = 0;        // To add up the parts of split sums.
  double l2_bytes_per_clock = 0;  // Of L2, for each multiprocessor.
};

// Those fitted to the rows of all GPUs but `gpu`; to all rows for a GPU that has none.
TransferConstants PublishedTransferConstants(std::string_view gpu);

// Numbers that the formula reads of a GPU's model file.
struct TransferHardware {
  double multiprocessors = 0;
  double clock = 0;      // Boost clock in Hz.
  double bandwidth = 0;  // Attained bytes per second.
  double rate = 0;       // Operations per second.
  double l2_bytes = 0;
  double input_bytes = 2;
  std::uint32_t architecture = 0;
};

// The rate is that of BF16 times the ratio of both peaks: long GEMMs of either type attain the same
// share of their peak, within four hundredths on each measured GPU, while the sustained rates of
// FP8 come from sources that differ by more.
TransferHardware TransferHardwareOf(const gpu_model::GpuModel& gpu, std::string_view type);

// Seconds. Does not grow in every size, as waves do not.
double TransferSeconds(const TransferConstants& constants, const TransferHardware& hardware,
                       double m, double n, double k);

struct TransferReferenceGpu {
  const MeasuredGemms* gemms = nullptr;
  TransferHardware hardware;
};

// Carries from reference GPUs of the GPU's own architecture if there are any, the nearer ones in
// rate, bandwidth, clock and multiprocessors more; otherwise from all of them, architectures alike.
// Averages are of logarithms. Between architectures only what neighbouring sizes have in common
// carries over: a library's choice for one size does not. `roof` is the GPU's own. Requires:
// reference GPUs not empty.
MeasuredGemms CarriedGemms(const TransferConstants& constants, const TransferHardware& hardware,
                           const GemmRoof& roof,
                           const std::vector<TransferReferenceGpu>& reference_gpus);

}  // namespace eidolon::timing::model
