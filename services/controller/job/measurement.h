// Makes a prediction of what agents report. Pure bookkeeping on integers: the same reports give the
// same prediction in whatever order they arrive.
//
// The time of iteration i of a job is
//     max over ranks of end(rank, i)  -  max over ranks of start(rank, i):
// from the moment the slowest rank has begun it to the moment the slowest rank has finished it.
// Where iterations follow each other without a gap these times add up to the time of the job.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/controller/job/gpu_effort.h"
#include "services/controller/job/measurement_options.h"
#include "services/controller/job/prediction.h"
#include "services/controller/job/tokens.h"

namespace eidolon::controller::job {

// Picoseconds; they add up to the iteration's length.
struct Breakdown {
  std::uint64_t compute = 0;
  std::uint64_t exposed_communication = 0;
  std::uint64_t idle = 0;
  std::uint64_t host = 0;
};

// GPU-busy picoseconds by source.
struct Coverage {
  std::uint64_t measured = 0;
  std::uint64_t interpolated = 0;
  std::uint64_t modelled = 0;
  std::uint64_t assumed = 0;
};

// One iteration of one rank, as its agent saw it.
struct RankIteration {
  std::int32_t rank = 0;
  std::uint32_t index = 0;
  std::uint64_t start_ps = 0;
  std::uint64_t end_ps = 0;
  std::uint64_t error_ps = 0;          // One standard deviation of its length.
  std::uint64_t host_work_ps = 0;      // The program's own, whatever its GPU did meanwhile.
  std::int64_t slowness_ps = 0;        // Kernels were so much longer than on an average GPU.
  std::uint64_t assumed_launches = 0;  // Their duration is a guess.
  RankEnergy energy;
  Breakdown breakdown;
  std::uint64_t copies_to_host_ps = 0;  // Busy time.
  std::uint64_t copies_to_device_ps = 0;
  Coverage coverage;
  WorkCounts counts;
  TokenWork tokens;
  std::vector<NamedAmount> assumed_kernels;  // Busy picoseconds.
  std::vector<KernelTime> kernels;           // Only of the first iteration after warm-up.
};

// All that one rank did, told at the end by ranks without a measured iteration.
struct RankProgram {
  std::int32_t rank = 0;
  std::uint64_t length_ps = 0;
  std::uint64_t error_ps = 0;  // One standard deviation.
  std::uint64_t host_work_ps = 0;
  RankEnergy energy;
  std::uint64_t launches = 0;
  Breakdown breakdown;
  Coverage coverage;
  WorkCounts counts;
  std::vector<NamedAmount> assumed_kernels;
  std::vector<KernelTime> kernels;
};

// What a server's ranks have used so far; a later report replaces the earlier one.
struct ServerUsage {
  std::vector<RankMemory> memory;
  std::vector<NamedAmount> refused_calls;
  std::uint64_t unknown_reads = 0;
  std::vector<UnknownReadSource> unknown_read_sources;
  std::vector<std::uint32_t> used_declarations;
  std::uint64_t clamped_records = 0;
  // Folded jobs.
  std::uint64_t guessed_collectives = 0;
  std::vector<NamedAmount> guessed_call_sites;
  std::vector<NamedAmount> work_differences;
  std::uint64_t work_differences_total = 0;
  std::vector<RankProgram> programs;
};

// Not thread safe.
class Measurement {
 public:
  explicit Measurement(MeasurementOptions options) : options_(options) {}

  // A second report of the same rank and index is ignored, as is everything after the last measured
  // one.
  void Add(const RankIteration& iteration);
  void SetUsage(std::uint32_t server, ServerUsage usage);

  // Leading iterations that every rank has finished, warm-up included.
  std::uint32_t finished() const { return finished_; }
  std::uint32_t wanted() const { return options_.warmup + options_.measure; }
  // Every wanted iteration was finished by every rank: the command may be ended.
  bool IsEnough() const { return finished() >= wanted(); }
  // No more reports will come: ranks that never reported an iteration no longer count (a program
  // may leave GPUs unused).
  void Close();
  // Iterations of any rank.
  std::uint32_t seen() const { return static_cast<std::uint32_t>(iterations_.size()); }

  // Returns what is known so far. `measured_iterations` is 0 when no iteration after warm-up is
  // finished: then it tells of the whole program, once that is known. Memory and calls are reported
  // all the same.
  Prediction Predict() const;

 private:
  // Kernels by name, family and source.
  using Kernels = std::map<std::array<std::string, 3>, KernelTime>;
  // State of one iteration: order-independent sums and maxima over ranks.
  struct Iteration {
    std::set<std::int32_t> ranks;
    std::uint64_t start_ps = 0;
    std::uint64_t end_ps = 0;
    std::uint64_t error_ps = 0;
    std::uint64_t host_work_ps = 0;
    std::int64_t slowness_ps = 0;        // Of the slowest rank; at least 0.
    std::uint64_t assumed_launches = 0;  // Of the rank with most.
    std::uint64_t assumed_ps = 0;        // The same.
    RankEnergy energy;                   // A sum, and a maximum.
    Breakdown breakdown;
    std::map<std::int32_t, std::uint64_t> own_ps;  // By rank: without exposed communication.
    std::uint64_t copies_to_host_ps = 0;
    std::uint64_t copies_to_device_ps = 0;
    Coverage coverage;
    std::map<std::int32_t, WorkCounts> counts;  // By rank.
    std::map<std::int32_t, TokenWork> tokens;   // The same.
    std::map<std::string, std::uint64_t> assumed_kernels;
    Kernels kernels;
  };

  struct MeanIteration {
    double seconds = 0;
    double low = 0;  // The band.
    double high = 0;
    double host_work = 0;
  };

  static std::uint64_t LengthOf(const Iteration& iteration);
  static IterationParts PartsOf(const Iteration& iteration);
  AssumedWork AssumedOf(const std::vector<const Iteration*>& iterations) const;
  MeanIteration MeanOf(const std::vector<const Iteration*>& iterations) const;
  void CountFinished();
  static void AddKernels(const std::vector<KernelTime>& kernels, Kernels* kept);
  void AddTimes(const std::vector<const Iteration*>& measured, Prediction* prediction) const;
  // Finds the iterations that repeat, and returns them.
  std::vector<const Iteration*> AddSteady(const std::vector<const Iteration*>& measured,
                                          Prediction* prediction) const;
  // `repeating`: of the measured ones, in order.
  std::vector<RankTokens> TokensOf(const Iteration& first,
                                   const std::vector<const Iteration*>& repeating) const;
  void AddTokens(const std::vector<RankTokens>& ranks, Prediction* prediction) const;
  void AddThroughput(const Iteration& first, const std::vector<RankTokens>& ranks,
                     Prediction* prediction) const;
  void AddBalance(const std::vector<const Iteration*>& repeating, Prediction* prediction) const;
  void AddUnevenness(const std::vector<const Iteration*>& measured, Prediction* prediction) const;
  // Adds the shares of the repeating iterations; kernels of the first measured one.
  void AddShares(const Iteration& first, const std::vector<const Iteration*>& repeating,
                 Prediction* prediction) const;
  void AddEffort(const GpuEffort& effort, Prediction* prediction) const;
  void AddProgram(Prediction* prediction) const;
  void AddUnknownReads(Prediction* prediction) const;
  void AddUsage(Prediction* prediction) const;
  void SplitAllocations(Prediction* prediction) const;
  void CountGpus(Prediction* prediction) const;
  std::vector<const Iteration*> Measured() const;

  MeasurementOptions options_;
  std::map<std::uint32_t, Iteration> iterations_;
  std::uint32_t finished_ = 0;  // So many lead iterations_, all ranks in each.
  std::set<std::int32_t> ranks_seen_;
  std::map<std::uint32_t, ServerUsage> usage_;
};

}  // namespace eidolon::controller::job
