// This is a roofline with a roof for every part of a GPU, and rules for how parts overlap. Each
// part gets the time that it would need if nothing else mattered (a Bound). What belongs to a
// multiprocessor is computed for the busiest one: clocks of a block, times the blocks that it runs.
// What all multiprocessors share (L2, device memory, starting blocks) is computed for the whole
// grid. Within a field of Parts the longest bound counts; a new bound has to enter one of the
// fields, since only they make the time.
//
// The longest part alone would be too short a time, because a warp that waits does not issue. A
// plain kernel is a closed queue (overlap.h): its blocks, or groups of warps, wait by themselves
// for the latency of memory and take turns at what serves them all, the multiprocessor's work and
// memory combined by a sum of powers. Few customers give nearly the sum of both, many nearly the
// longer one. Matrix instructions have their data brought while they run, so they hide memory and
// latency but for the beginning and the end of each generation of blocks, in which all that run
// together do the same (Beginnings). Latency is paid once for each generation.
//
// Clocks are of the boost clock; times are seconds. Constants name the measurement or publication
// that they come from where there is one; none is fitted to a whole training step.
#include "services/timing/count/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "services/contract/machine/machine.h"
#include "services/timing/count/growth.h"
#include "services/timing/count/overlap.h"
#include "services/timing/count/pipes.h"
#include "services/timing/gpu_model/atomics.h"

namespace eidolon::timing::count {
namespace {

// Lines of code of a usual kernel, the median of those of docs/reference/generated/operators.md:
// what any kernel needs besides has those of it.
constexpr double kUsualCodeLines = 32;

// Operations a second of matrix instructions. Those of single warps get their share of the peak
// where others are of groups; that is less than power limits.
double MatrixRate(const gpu_model::GpuModel& gpu, MatrixType type, bool in_groups) {
  const std::string name(Name(type));
  const auto peak = gpu.peak_flops.find(name);
  const double most = peak != gpu.peak_flops.end() ? peak->second : gpu.peak_flops.at("bf16");
  const auto found = gpu.sustained_flops.find(name);
  const double sustained =
      found != gpu.sustained_flops.end() ? found->second : machine::kSustainedShare * most;
  if (gpu.compute_major < machine::kGroupMatrixMajor || in_groups) return sustained;
  return std::min(sustained, machine::kWarpMatrixShare * most);
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
  if (counts.growth.steps > 1) {
    load.blocks = BusiestBlocks(counts.growth, counts.blocks, sms, counts.resident_blocks);
  }
  load.generations = full + (rest > 0 ? 1 : 0);
  load.together = std::min(counts.resident_blocks, std::max(1.0, std::ceil(counts.blocks / sms)));
  return load;
}

// Returns the time of one block's matrix instructions, as if all multiprocessors worked on it.
double MatrixSeconds(const BlockCounts& block, const gpu_model::GpuModel& gpu) {
  const bool in_groups = block.group_matrix_operations > 0;
  double seconds = 0;
  for (std::size_t i = 0; i < kMatrixTypes; ++i) {
    if (block.matrix_operations[i] == 0) continue;
    seconds += block.matrix_operations[i] / MatrixRate(gpu, static_cast<MatrixType>(i), in_groups);
  }
  return seconds;
}

// What blocks read again and L2 holds no more: between the two times, all blocks that run at once
// have asked it for more than its size.
double BytesAgain(const Counts& counts, const gpu_model::GpuModel& gpu, const Load& load) {
  const BlockCounts& block = counts.block;
  if (block.again_sectors == 0) return 0;
  const double at_once = load.together * std::min<double>(gpu.multiprocessors, counts.blocks);
  const double between =
      block.again_distance / block.again_sectors * machine::kSectorBytes * at_once;
  if (between <= static_cast<double>(gpu.l2_bytes)) return 0;
  return block.again_sectors * machine::kSectorBytes * counts.blocks;
}

double BytesMoved(const Counts& counts, const gpu_model::GpuModel& gpu, const Load& load) {
  const double once = counts.bytes_read + counts.bytes_written;
  if (once <= machine::kHeldShare * static_cast<double>(gpu.l2_bytes)) return once;
  // What blocks that run at once share is moved once; later ones may find it gone.
  return std::max(once, std::min(counts.bytes_in_order, counts.bytes_at_once * load.generations)) +
         BytesAgain(counts, gpu, load);
}

double ErrorOf(const Counts& counts) {
  constexpr double kError = 0.3;
  double error = kError;
  if (counts.depends_on_memory) error += 0.3;
  if (counts.passed_over > 0) error += 0.2;
  return error;
}

// Time that blocks that start together wait before and after their matrix instructions, generation
// after generation.
struct Beginnings {
  double waits = 0;  // For the blocks before, and for the first answer of memory.
  double alone = 0;  // Of these, what a block that is alone waits for.
  double moves = 0;  // What they read first and write last, where nobody else asks L2 for anything.
};

// Time that the parts of a GPU need for a launch.
struct Parts {
  double arithmetic = 0;  // The busiest of the pipes that warps wait for, and of the schedulers.
  double matrix = 0;
  double near = 0;  // The multiprocessor's own memory.
  double far = 0;   // L2 and device memory.
  double latency = 0;
  double starts = 0;  // Of the grid's blocks, one after the other.
  double fetch = 0;   // Instructions that nobody has while warps wait for them.
  Beginnings beginnings;
};

// Time that the pipes of multiplications need. From 8.6 on half of the lanes for single precision
// multiply integers too, before that all of them do (NVIDIA's developer forum, "Separate CUDA core
// pipeline for FP16 and FP32", 2024); a result of 64 bits takes its lanes twice.
struct Multiplications {
  double single = 0;    // Clocks of a block, all lanes for single precision together.
  double integers = 0;  // Of those that multiply integers.
};
Multiplications MultiplicationsOf(const BlockCounts& block, const gpu_model::GpuModel& gpu) {
  const auto issued = [&](Pipe pipe) { return block.issued[static_cast<std::size_t>(pipe)]; };
  const auto clocks = [&](Pipe pipe) {
    return ClocksOf(pipe, gpu.compute_major, gpu.compute_minor);
  };
  const double integers = issued(Pipe::kMultiply) + 2 * issued(Pipe::kWideMultiply);
  return {.single = (issued(Pipe::kFma) + integers) * clocks(Pipe::kFma),
          .integers = issued(Pipe::kMultiply) * clocks(Pipe::kMultiply) +
                      issued(Pipe::kWideMultiply) * clocks(Pipe::kWideMultiply)};
}

// Customers of a multiprocessor's queue: those of one of its schedulers, as the others do alike. A
// block's warps go together from barrier to barrier; where they wait for memory several times in
// between, each goes at its own pace.
double Customers(const Counts& counts, const Load& load) {
  const BlockCounts& block = counts.block;
  const double barriers = block.barriers / std::max(counts.warps, 1.0);
  const double waits = block.far_clocks / machine::kDeviceMemoryLatency / (1 + barriers);
  const double apart = std::max(1.0, std::min(counts.warps / machine::kSchedulers, waits));
  return std::max(1.0, std::round(load.together * apart));
}

// Blocks of matrix instructions that run at once do alike, and meanwhile nobody computes. What they
// move shares L2 and device memory with the other multiprocessors, so that it takes as much longer
// as these are busy: a server that all share at once (Kleinrock, "Queueing Systems", volume 2,
// 1976). The time that is sought follows from itself.
double WithBeginnings(double running, double far, const Beginnings& beginnings) {
  constexpr int kSteps = 20;
  constexpr double kMostBusy = 0.9;
  const double least = running + beginnings.waits + beginnings.moves;
  double seconds = least;
  for (int i = 0; i < kSteps; ++i) {
    const double busy = std::min(kMostBusy, far / seconds);
    seconds = running + beginnings.waits + beginnings.moves / (1 - busy);
  }
  return seconds;
}

// Groups of warps that issue matrix instructions, each at its own pace, where others of their block
// bring the data. Without those, groups wait for each other and do alike: one. Into tensor memory
// one warp multiplies for all, who meanwhile work on what it has left there before.
double MatrixGroups(const Counts& counts, const Load& load) {
  constexpr double kWarpsOfGroup = 4, kBuffers = 2;
  const BlockCounts& block = counts.block;
  if (block.group_matrix_operations == 0 || block.matrix_warps > counts.warps - 1) return 1;
  const double groups =
      block.matrix_warps < kWarpsOfGroup ? kBuffers : block.matrix_warps / kWarpsOfGroup;
  return std::max(1.0, std::round(groups * load.together));
}

// Returns what a multiprocessor executes.
double OwnSeconds(const Counts& counts, const Parts& parts, const Load& load) {
  const double groups = MatrixGroups(counts, load);
  return std::max(QueueSeconds(groups, 0, std::array{parts.matrix, parts.arithmetic}), parts.near);
}

// Returns what warps wait for instructions: where all start together, nobody has any in the cache.
// Where the kernel has more than fit, each block brings its own again, while the others compute.
double FetchSeconds(const Counts& counts, const gpu_model::GpuModel& gpu, const Parts& parts,
                    const Load& load) {
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const double lines = counts.block.code_lines;
  const double first = std::max(0.0, lines - kUsualCodeLines) * machine::kCodeLineClocks / clock;
  if (counts.code_lines <= machine::kCachedCodeLines || load.generations <= 1) return first;
  const double own = OwnSeconds(counts, parts, load);
  const double alone = std::max(0.0, parts.latency - own / load.together);
  const double fetched = lines * machine::kCodeLineClocks * load.blocks / clock;
  const double again = QueueSeconds(load.together, alone, std::array{own, fetched}) -
                       QueueSeconds(load.together, alone, own);
  return std::max(first, again);
}

// Returns what a multiprocessor executes overlaps with the memory behind it, by the warps of a
// block, unless both are nearly as long. Blocks take turns at them. Those that follow are started
// meanwhile. Matrix instructions take turns with the rest of their warps' work, and what they need
// is brought while they run: those two add up, and hide the memory and the latency nearly.
double Together(const Counts& counts, const Parts& parts, const Load& load) {
  // Chosen with measured times in sight: docs/reference/generated/kernel_counts.md.
  constexpr double kPower = 2.5;
  constexpr double kMatrixPower = 4;
  const double own = OwnSeconds(counts, parts, load);
  if (parts.matrix > 0) {
    const std::array all = {own, parts.far, parts.latency - parts.beginnings.alone};
    return std::max(WithBeginnings(Overlapped(kMatrixPower, all), parts.far, parts.beginnings),
                    parts.starts);
  }
  const double shared = Overlapped(kPower, std::array{own, parts.far});
  const double stores =
      counts.bytes_written / std::max(counts.bytes_read + counts.bytes_written, 1.0);
  const double running =
      QueueSecondsBesideStores(Customers(counts, load), parts.latency, shared, parts.far * stores);
  return std::max(running, parts.starts);
}

// How much longer than [2] of docs/reference/generated/kernel_counts.md says a load takes where L2
// does not hold the launch's data, by the part of it that device memory brings.
double LateShare(const Counts& counts, const gpu_model::GpuModel& gpu) {
  const double bytes = counts.bytes_read + counts.bytes_written;
  if (bytes <= machine::kHeldShare * static_cast<double>(gpu.l2_bytes)) return 0;
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const double later =
      std::max(0.0, machine::kFarLoadSeconds * clock / machine::kDeviceMemoryLatency - 1);
  const double asked = counts.block.missed_sectors * machine::kSectorBytes * counts.blocks;
  return later * std::min(1.0, bytes / std::max(asked, 1.0));
}

// What blocks wait for by themselves, one generation after the other: the last of them lasts as
// long as its longest block. Matrix instructions run while their blocks wait, unless all of these
// run at once.
double LatencySeconds(const Counts& counts, const gpu_model::GpuModel& gpu, double generations) {
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const bool hides = generations > 1 && MatrixOperations(counts) > 0;
  const double later = hides ? 0 : LateShare(counts, gpu);
  const double mean = (counts.block.clocks + later * counts.block.far_clocks) / clock;
  const double longest = (counts.longest_clocks + later * counts.longest_far_clocks) / clock;
  return (generations - 1) * (mean + machine::kTurnoverSeconds) + std::max(mean, longest);
}

Beginnings BeginningsOf(const Counts& counts, const gpu_model::GpuModel& gpu, const Load& load) {
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const double first = std::min(counts.block.far_clocks, machine::kDeviceMemoryLatency) / clock;
  const double later = load.generations > 1 ? LateShare(counts, gpu) : 0;
  const double bytes = counts.block.first_sectors * machine::kSectorBytes +
                       counts.bytes_written / std::max(counts.blocks, 1.0);
  Beginnings beginnings;
  beginnings.alone = (load.generations - 1) * machine::kTurnoverSeconds + load.generations * first;
  beginnings.waits = beginnings.alone + load.generations * later * first;
  beginnings.moves = load.blocks * bytes / (machine::kFarCacheBytes * clock);
  return beginnings;
}

// Lines a second that L2 looks up, for all multiprocessors.
double FarLines(const gpu_model::GpuModel& gpu) {
  const double slices = gpu_model::Slices(gpu);
  const double a_clock =
      slices > 0 ? machine::kSliceLines * slices : machine::kOtherLines * gpu.multiprocessors;
  return a_clock * static_cast<double>(gpu.boost_clock_hz);
}

// Where memory says which word each lane takes, lanes meet because all of it reads as the same
// here: they are taken to be spread over a thousand words in a row, as most histograms are.
double CollidingSeconds(const Counts& counts, const gpu_model::GpuModel& gpu) {
  constexpr double kWordBytes = 4, kSpreadWords = 1024;
  const BlockCounts& block = counts.block;
  const bool is_known = counts.atomic_bytes_at_once > 0;
  const double rounds = is_known ? block.atomic_rounds : block.colliding_atomics;
  const double bytes = is_known ? counts.atomic_bytes_at_once : kSpreadWords * kWordBytes;
  return gpu_model::AtomicSeconds(gpu, rounds * counts.blocks, bytes / machine::kLineBytes);
}

}  // namespace

// The order matters in one place: FetchSeconds and Together read parts that have been added before.
CountedTime TimeOf(const Counts& counts, const gpu_model::GpuModel& gpu) {
  const BlockCounts& block = counts.block;
  const Load load = LoadOf(counts, gpu);
  const double clock = static_cast<double>(gpu.boost_clock_hz);
  const auto of_block = [&](double clocks) { return clocks * load.blocks / clock; };
  CountedTime time;
  Parts parts;
  const auto add = [&time](std::string_view name, double seconds, double& part) {
    if (seconds > 0) time.bounds.push_back({name, seconds});
    part = std::max(part, seconds);
  };
  // A multiprocessor's schedulers and pipes are only all in use by as many warps.
  const double warps = counts.warps * load.together;
  const double schedulers = std::min(machine::kSchedulers, std::max(1.0, warps));
  const auto add_pipe = [&](std::string_view name, double clocks) {
    add(name, of_block(clocks * machine::kSchedulers / schedulers), parts.arithmetic);
  };
  add_pipe("issue", block.instructions() / machine::kSchedulers);
  for (std::size_t i = 0; i < kPipes; ++i) {
    const auto pipe = static_cast<Pipe>(i);
    const double clocks = ClocksOf(pipe, gpu.compute_major, gpu.compute_minor);
    const bool multiplies =
        pipe == Pipe::kFma || pipe == Pipe::kMultiply || pipe == Pipe::kWideMultiply;
    if (pipe == Pipe::kMemory || multiplies) continue;
    add_pipe(Name(pipe), block.issued[i] * clocks);
  }
  const Multiplications needed = MultiplicationsOf(block, gpu);
  add_pipe(Name(Pipe::kFma), needed.single);
  add_pipe(Name(Pipe::kMultiply), needed.integers);
  add(Name(Pipe::kTensor),
      MatrixSeconds(block, gpu) * load.blocks * gpu.multiprocessors * machine::kSchedulers /
          schedulers,
      parts.matrix);
  const double accesses = block.issued[static_cast<std::size_t>(Pipe::kMemory)];
  add("LSU",
      of_block(std::max(accesses,
                        block.shared_wavefronts + block.line_requests / machine::kLinesAtOnce)),
      parts.near);
  const double missed_bytes = block.missed_sectors * machine::kSectorBytes;
  add("L1 misses", of_block(std::max(block.missed_lines, missed_bytes / machine::kFarCacheBytes)),
      parts.near);
  add("atomics", of_block(block.atomics / machine::kAtomicsPerClock), parts.near);
  add("colliding atomics", CollidingSeconds(counts, gpu), parts.far);
  add("L2",
      counts.blocks *
          std::max(missed_bytes / (machine::kFarCacheBytes * gpu.multiprocessors * clock),
                   block.missed_lines / FarLines(gpu)),
      parts.far);
  add("DRAM",
      BytesMoved(counts, gpu, load) /
          (static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share),
      parts.far);
  add("latency", LatencySeconds(counts, gpu, load.generations), parts.latency);
  parts.beginnings = BeginningsOf(counts, gpu, load);
  add("starts of blocks", counts.blocks / (machine::kBlocksPerClock * clock), parts.starts);
  add("instruction cache", FetchSeconds(counts, gpu, parts, load), parts.fetch);
  std::ranges::sort(time.bounds,
                    [](const Bound& a, const Bound& b) { return a.seconds > b.seconds; });
  time.seconds = gpu_model::KernelSeconds(gpu, Together(counts, parts, load) + parts.fetch);
  time.relative_error = ErrorOf(counts);
  return time;
}

}  // namespace eidolon::timing::count
