#include "services/timing/count/bounds.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "services/timing/count/pipes.h"

namespace eidolon::timing::count {
namespace {

// Schedulers of a multiprocessor, each issuing one instruction a clock: CUDA C++ Programming Guide.
constexpr double kSchedulers = 4;
// Bytes a clock from L2 to a multiprocessor, so that a line of 128 bytes takes two clocks: NVIDIA
// A100 whitepaper (64 bytes a clock and multiprocessor).
constexpr double kClocksOfLine = 2;
// Bytes a clock and multiprocessor that all of them together get from L2: 5.5 to 5.7 TB/s on H100
// PCIe of 114 multiprocessors at 1.755 GHz (Chips and Cheese, "Nvidia's H100", 2023).
constexpr double kFarCacheBytes = 28;
constexpr double kAtomicsPerClock = 1;  // Of one multiprocessor, lanes that go to L2.

// As in model/memory_model.cc: the shortest kernel holds one round trip to memory.
constexpr double kMemoryLatencySeconds = 0.6e-6;

double MatrixRate(const gpu_model::GpuModel& gpu, MatrixType type) {
  const std::string name(Name(type));
  if (const auto found = gpu.sustained_flops.find(name); found != gpu.sustained_flops.end()) {
    return found->second;
  }
  constexpr double kSustainedShare = 0.8;
  const auto found = gpu.peak_flops.find(name);
  return kSustainedShare *
         (found != gpu.peak_flops.end() ? found->second : gpu.peak_flops.at("bf16"));
}

// Blocks that the busiest multiprocessor runs, and how many generations of them.
struct Load {
  double blocks = 0;
  double generations = 0;
  double together = 1;  // Blocks at once.
};
Load LoadOf(const Counts& counts, const gpu_model::GpuModel& gpu) {
  const double sms = gpu.multiprocessors;
  const double at_once = sms * counts.resident_blocks;
  const double full = std::floor(counts.blocks / at_once);
  const double rest = counts.blocks - full * at_once;
  Load load;
  load.blocks = full * counts.resident_blocks + std::ceil(rest / sms);
  load.generations = full + (rest > 0 ? 1 : 0);
  load.together = std::min(counts.resident_blocks, std::max(1.0, std::ceil(counts.blocks / sms)));
  return load;
}

double BytesMoved(const Counts& counts, const gpu_model::GpuModel& gpu, double generations) {
  const double once = counts.bytes_read + counts.bytes_written;
  if (once <= kHeldShare * static_cast<double>(gpu.l2_bytes)) return once;
  // What blocks that run at once share is moved once; later ones may find it gone.
  return std::max(once, std::min(counts.bytes_in_order, counts.bytes_at_once * generations));
}

double ErrorOf(const Counts& counts) {
  constexpr double kError = 0.3;
  double error = kError;
  if (counts.depends_on_memory) error += 0.3;
  if (counts.passed_over > 0) error += 0.2;
  return error;
}

// What overlaps only in part: a multiprocessor's own work, the memory behind it, and the time that
// each block waits for both. As independent delays add up, by their squares.
double Together(const std::vector<Bound>& bounds) {
  double memory = 0;
  double latency = 0;
  double work = 0;
  for (const Bound& bound : bounds) {
    double& part = bound.name == "DRAM" || bound.name == "L2" ? memory
                   : bound.name == "latency"                  ? latency
                                                              : work;
    part = std::max(part, bound.seconds);
  }
  return std::sqrt(memory * memory + latency * latency + work * work);
}

}  // namespace

CountedTime TimeOf(const Counts& counts, const gpu_model::GpuModel& gpu) {
  const BlockCounts& block = counts.block;
  const Load load = LoadOf(counts, gpu);
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const auto of_block = [&](double clocks) { return clocks * load.blocks / clock; };
  CountedTime time;
  const auto add = [&time](std::string_view name, double seconds) {
    if (seconds > 0) time.bounds.push_back({name, seconds});
  };
  // A multiprocessor's schedulers and pipes are only all in use by as many warps.
  const double warps = counts.warps * load.together;
  const double parts = std::min(kSchedulers, std::max(1.0, warps));
  add("issue", of_block(block.instructions() / parts));
  for (std::size_t i = 0; i < kPipes; ++i) {
    const auto pipe = static_cast<Pipe>(i);
    const double clocks = ClocksOf(pipe, gpu.compute_major, gpu.compute_minor);
    if (pipe == Pipe::kMemory) continue;
    add(Name(pipe), of_block(block.issued[i] * clocks * kSchedulers / parts));
  }
  // Where warps have instructions for groups of four, those for one of them reach less of the rate:
  // Luo et al., 2024, 62.9 % on H100.
  constexpr double kWarpShare = 0.629;
  const bool in_groups = block.group_matrix_operations > 0;
  const double share = gpu.compute_major >= 9 && !in_groups ? kWarpShare : 1;
  double matrix = 0;
  for (std::size_t i = 0; i < kMatrixTypes; ++i) {
    if (block.matrix_operations[i] == 0) continue;
    matrix += block.matrix_operations[i] * load.blocks * gpu.multiprocessors /
              (MatrixRate(gpu, static_cast<MatrixType>(i)) * share);
  }
  add(Name(Pipe::kTensor), matrix * kSchedulers / parts);
  const double accesses = block.issued[static_cast<std::size_t>(Pipe::kMemory)];
  add("LSU", of_block(std::max(accesses, block.shared_wavefronts + block.line_requests)));
  add("L1 misses", of_block(block.missed_lines * kClocksOfLine));
  add("atomics", of_block(block.atomics / kAtomicsPerClock));
  add("L2",
      block.missed_sectors * 32 * counts.blocks / (kFarCacheBytes * gpu.multiprocessors * clock));
  add("DRAM", BytesMoved(counts, gpu, load.generations) /
                  (static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share));
  add("latency", load.generations * block.clocks / clock);
  std::ranges::sort(time.bounds,
                    [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  const double work = Together(time.bounds);
  const double floor = gpu.kernel_floor.Seconds();
  time.seconds = std::max(floor, floor - kMemoryLatencySeconds + work);
  time.relative_error = ErrorOf(counts);
  return time;
}

}  // namespace eidolon::timing::count
