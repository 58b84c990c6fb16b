// A kernel needs memory, instruction issue, arithmetic and answers to dependent loads, and how
// these combine depends on who waits for whom. Parts that different warps do at the same time
// overlap: the longest counts. Parts that the same lanes do in turn overlap in part, which the root
// of a sum of squares stands for. Chains that nothing can hide are added. A grid that is too small
// for the GPU is bound by one block on one multiprocessor, at its share of bandwidth and rate.
// Shares of blocks are rounded up to powers of two, so that a last block that is not full does not
// make the others seem shorter. The kernel's own floor enters once, by KernelSeconds.
#include "services/timing/model/memory_model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "services/contract/machine/machine.h"
#include "services/timing/gpu_model/atomics.h"

namespace eidolon::timing::model {
namespace {

// Share of the L2 in which a kernel may find its predecessor's output, and how much faster that
// moves. Repeated element-wise kernels on A100 and H100 run at 1.4 to 2 times the DRAM rate below
// this size.
constexpr double kResidentShare = 0.4;
constexpr double kResidentSpeed = 1.5;

// One multiprocessor alone draws about three times its fair share of the bandwidth, and needs some
// 256 threads to keep its loads in flight.
constexpr double kSingleShare = 3;
constexpr double kThreadsToFill = 256;

// Rates of a multiprocessor and clock: sectors that scattered lanes get (120 G/s on H100: published
// transposing kernels, e2e/validation/operators.csv), and lines that L2 looks up for them where
// memory and instructions are counted besides (a transposing copy on H200,
// e2e/measured/h200/counters.csv).
constexpr double kSectorsPerClock = 0.46;
constexpr double kLinesPerClock = 0.6;

// Instructions of lanes that a multiprocessor issues in a clock.
constexpr double kIssuedLanes = machine::kSchedulers * machine::kWarpLanes * machine::kIssueShare;

// Writing alone exceeds what copies attain, as no reads come between.
constexpr double kEfficiencyMax = 1.1;

// The work of the block that has most. Where a grid is made for elements, each thread has room for
// a power of two of them, and only the last block has less to do. Else the share is rounded up
// likewise, because the last block of a grid is rarely full and the others, which decide, must not
// seem to do less because of it; the middle of the rounding's range is taken out again.
double BlockShare(double total, const kernel::Demand& demand, const Parallelism& parallelism) {
  constexpr double kMiddle = 0.7;
  if (demand.elements > 0 && parallelism.threads > 0) {
    const double room = std::exp2(std::ceil(std::log2(demand.elements / parallelism.threads)));
    const double of_block = std::max(1.0, room) * parallelism.threads / parallelism.blocks;
    return total * std::min(1.0, of_block / demand.elements);
  }
  const double each = total / parallelism.blocks;
  return each <= 0 ? 0 : kMiddle * std::exp2(std::ceil(std::log2(each)));
}

// Returns how often all multiprocessors are filled with blocks, once at least.
double Waves(const gpu_model::GpuModel& gpu, const Parallelism& parallelism) {
  if (parallelism.blocks <= 0) return 1;
  const double threads = std::max(1.0, parallelism.threads / parallelism.blocks);
  const double by_threads = std::floor(gpu.max_threads_per_multiprocessor / threads);
  const double resident = parallelism.resident > 0 ? parallelism.resident : by_threads;
  return std::max(1.0, parallelism.blocks / (gpu.multiprocessors * std::max(1.0, resident)));
}

// Returns the time of instructions, as the busiest multiprocessor has its share of the blocks.
double IssueSeconds(const gpu_model::GpuModel& gpu, double instructions, double blocks) {
  const double sms = gpu.multiprocessors;
  const double unevenness = blocks > 0 ? std::ceil(blocks / sms) / (blocks / sms) : 1;
  return unevenness * instructions / (kIssuedLanes * sms * static_cast<double>(gpu.boost_clock_hz));
}

// Returns the time of loads that wait for each other, while waves of blocks follow each other.
double DependentSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                        Parallelism parallelism) {
  if (demand.dependent_loads + demand.cold_loads + demand.dependent_clocks == 0) return 0;
  if (demand.working_blocks > 0) {
    parallelism.threads *= std::min(1.0, demand.working_blocks / std::max(1.0, parallelism.blocks));
    parallelism.blocks = std::min(parallelism.blocks, demand.working_blocks);
  }
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const bool is_held =
      demand.dependent_bytes <= machine::kHeldShare * static_cast<double>(gpu.l2_bytes);
  const double load = is_held ? machine::kFarCacheLatency / clock : machine::kFarLoadSeconds;
  // Blocks of streams of elements follow each other at once; others begin with what they share.
  const double waves = Waves(gpu, parallelism);
  return (demand.dependent_loads * load + demand.cold_loads * machine::kFarLoadSeconds +
          demand.dependent_clocks / clock) *
         (demand.elements > 0 ? waves : std::ceil(waves));
}

// Returns the time of atomic operations on the words that the running blocks have reached.
double RoundSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                    const Parallelism& parallelism) {
  const double at_once = demand.atomic_bytes / Waves(gpu, parallelism);
  return gpu_model::AtomicSeconds(gpu, demand.atomic_rounds, at_once / machine::kLineBytes);
}

// Returns the time of blocks whose warps wait for each other at every step: the clocks of one warp,
// and what the others of its block issue meanwhile on its scheduler. Blocks take turns at the
// schedulers without that, but every warp's access to shared memory waits for those of all others.
double InStepSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                     const Parallelism& parallelism) {
  constexpr double kWarp = machine::kWarpLanes;
  const double chain = DependentSeconds(gpu, demand, parallelism);
  if (parallelism.blocks <= 0) return chain;
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const double warps = std::max(1.0, parallelism.threads / parallelism.blocks / kWarp);
  const double by_threads = std::floor(gpu.max_threads_per_multiprocessor / (kWarp * warps));
  const double resident =
      std::max(1.0, parallelism.resident > 0 ? parallelism.resident : by_threads);
  const double blocks = std::ceil(parallelism.blocks / gpu.multiprocessors);
  const double waves = std::ceil(Waves(gpu, parallelism));
  const double issue =
      demand.instructions / kWarp / machine::kSchedulers / parallelism.blocks / clock;
  const double alone = chain + issue * waves * std::max(0.0, 1 - machine::kSchedulers / warps);
  const double together = std::min(blocks, resident);
  const double shared = demand.shared_wavefronts / parallelism.blocks * blocks / clock;
  return std::max(together > 1 ? std::hypot(alone, issue * blocks) : alone,
                  chain + shared * (1 - 1 / (warps * together)));
}

}  // namespace

double MemorySeconds(const gpu_model::GpuModel& gpu, double bytes, double efficiency) {
  const double bandwidth =
      static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share * efficiency;
  const double resident = std::min(bytes, kResidentShare * static_cast<double>(gpu.l2_bytes));
  return resident / (bandwidth * kResidentSpeed) + (bytes - resident) / bandwidth;
}

double Rate(const gpu_model::GpuModel& gpu, std::string_view type) {
  const std::string key(type);
  if (const auto found = gpu.sustained_flops.find(key); found != gpu.sustained_flops.end()) {
    return found->second;
  }
  if (const auto found = gpu.peak_flops.find(key); found != gpu.peak_flops.end()) {
    return found->second * machine::kSustainedShare;
  }
  if (type == "fp16" || type == "fp8" || type == "fp4" || type == "int8") return Rate(gpu, "bf16");
  if (type == "fp64_tensor") return Rate(gpu, "fp64");
  if (type == "fp64") return Rate(gpu, "fp32") / 32;
  if (type == "tf32") return Rate(gpu, "fp32");
  return gpu.peak_flops.at("bf16") * machine::kSustainedShare;
}

double GemmRateBound(const gpu_model::GpuModel& gpu, std::string_view type) {
  const bool tensor_cores = type != "fp32" && !type.starts_with("fp64");
  const double share = gpu.power ? gpu.power->burst_share : gpu.steady_product_share;
  return Rate(gpu, type) * (tensor_cores ? share : 1.0);
}

double DemandSeconds(const gpu_model::GpuModel& gpu, const kernel::Demand& demand,
                     const Parallelism& parallelism) {
  double bytes = demand.bytes;
  if (demand.row_bytes > 0) {
    const double waste = machine::kBurstBytes / std::min(demand.row_bytes, machine::kBurstBytes);
    bytes += demand.random_bytes * (std::min(waste, 8.0) - 1);
  }
  const double efficiency = std::clamp(demand.efficiency, 0.01, kEfficiencyMax);
  const double rate = Rate(gpu, demand.type);
  double memory = MemorySeconds(gpu, bytes, efficiency);
  double compute = demand.flops / rate;
  const double sms = gpu.multiprocessors;
  const double clocks = sms * static_cast<double>(gpu.boost_clock_hz);
  const bool streams = demand.elements > 0 && demand.instructions > 0;
  double address = std::max(demand.address_operations / machine::kIntegerLanes,
                            demand.sectors / (streams ? kLinesPerClock : kSectorsPerClock)) /
                   clocks;
  if (parallelism.blocks > 0) {
    // The blocks are too few: the time is that of one of them, on a multiprocessor of its own.
    const double threads = parallelism.threads / parallelism.blocks;
    const double single = static_cast<double>(gpu.memory_bytes_per_second) *
                          gpu.attained_memory_share * efficiency * kSingleShare / sms *
                          std::min(1.0, threads / kThreadsToFill);
    const auto of_block = [&](double total) { return BlockShare(total, demand, parallelism); };
    memory = std::max(memory, of_block(bytes) / single);
    compute = std::max(compute, of_block(demand.flops) * sms / rate);
    address = std::max(address, of_block(address) * sms);
  }
  const double started = std::max(
      demand.wave_steps * machine::kMemoryLatencySeconds * Waves(gpu, parallelism),
      parallelism.blocks / (machine::kBlocksPerClock * static_cast<double>(gpu.boost_clock_hz)));
  const double issue = IssueSeconds(gpu, demand.instructions, parallelism.blocks);
  // Lanes that wait for what they load leave schedulers and memory idle by turns (Hong and Kim,
  // 2009; docs/reference/generated/kernel_counts.md); stores are given away and forgotten.
  const double dependent = DependentSeconds(gpu, demand, parallelism);
  double moving = demand.only_writes ? std::max(memory, issue) : std::hypot(memory, issue);
  if (streams) {
    moving = std::hypot(moving, address, dependent);
  } else if (demand.in_step) {
    moving = std::hypot(memory, InStepSeconds(gpu, demand, parallelism));
  }
  const double waiting = std::max({started, dependent, RoundSeconds(gpu, demand, parallelism)});
  const double work = std::max({moving, compute, address, waiting}) +
                      demand.serial_steps * machine::kMemoryLatencySeconds +
                      demand.clocks / static_cast<double>(gpu.boost_clock_hz);
  return gpu_model::KernelSeconds(gpu, work);
}

}  // namespace eidolon::timing::model
