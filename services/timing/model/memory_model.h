// Time of kernels that are bound by memory, by simple arithmetic, or by waiting for both.
#pragma once

#include <string_view>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/demand.h"

namespace eidolon::timing::model {

// Threads and blocks that carry the demand; both 0 when not known (library calls): the GPU is then
// taken to be filled.
struct Parallelism {
  double blocks = 0;
  double threads = 0;
  double resident = 0;  // Blocks that one multiprocessor holds; 0: as many as have its threads.
};

// Seconds to move `bytes` at `efficiency` of the attainable bandwidth, without the kernel's floor.
// Continuous and increasing in `bytes`: the first bytes, which may still be in L2, move faster.
double MemorySeconds(const gpu_model::GpuModel& gpu, double bytes, double efficiency);

// Operations per second of `type`, by preference the sustained rate. Known types only fall back:
// fp16 to bf16, tf32 to fp32, others to bf16.
double Rate(const gpu_model::GpuModel& gpu, std::string_view type);

// Operations per second that no GEMM of `type` exceeds. On tensor cores: what the GPU reaches at
// its burst clock where its power is known, so that the device engine makes it slower under load
// (power_model.h); else what GEMMs hold for seconds (fit/data/long_runs.csv). For other types Rate
// itself.
double GemmRateBound(const gpu_model::GpuModel& gpu, std::string_view type);

// Seconds of a kernel with this demand; the floor included.
double DemandSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                     const Parallelism& parallelism);

}  // namespace eidolon::timing::model
