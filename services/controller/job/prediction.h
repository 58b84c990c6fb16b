// The prediction as users read it: the source of status, HTTP answers, metrics, page and terminal.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/contract/cluster/cluster_spec.h"
#include "services/controller/job/assumed_work.h"
#include "services/controller/job/finding.h"
#include "services/controller/job/gpu_effort.h"
#include "services/controller/job/host_model.h"
#include "services/controller/job/rank_balance.h"
#include "services/controller/job/slower_ranks.h"
#include "services/controller/job/steady.h"
#include "services/controller/job/throughput.h"
#include "services/controller/job/unevenness.h"

namespace eidolon::controller::job {

struct NamedAmount {
  std::string name;
  std::uint64_t amount = 0;

  bool operator==(const NamedAmount&) const = default;
};

// All launches of one kernel (library call, copy, collective) in one iteration, summed over ranks.
struct KernelTime {
  std::string name;
  std::string family;  // Of the model that answered.
  std::string source;  // "measured", "interpolated", "modelled" or "assumed".
  std::uint64_t picoseconds = 0;
  std::uint64_t launches = 0;
  std::uint64_t shortest_picoseconds = 0;
  std::uint64_t matrix_flops = 0;  // Of all launches; 0: none, or not counted.
  std::string operator_name = {};  // Of PyTorch (contract/operator_name); empty: not known.

  bool operator==(const KernelTime&) const = default;
};

// What work is for, summed: operations of GEMMs, convolutions and attention (a mask's part left
// out), and the bytes that the steps of an optimizer have updated, read and kept.
struct WorkCounts {
  std::uint64_t matrix_flops = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_state_bytes = 0;

  bool operator==(const WorkCounts&) const = default;
};

// Tokens of the whole job in an iteration, a mean.
struct TokenCount {
  bool is_declared = false;       // By the job; else by its launches.
  double per_iteration = 0;       // 0: not known.
  std::optional<double> derived;  // What the launches tell, ...
  std::string not_derived;        // ... or why that is not known, as the end of a sentence.
};

// Host reads of unknown bytes that one writer made, at one place.
struct UnknownReadSource {
  std::string writer;             // A kernel's readable name, or what else made the bytes unknown.
  std::uint32_t pointer = 0;      // Which of the kernel's pointers leads to them.
  std::string line;               // "train.py:40"; empty: not known.
  std::string given;              // What the host read instead.
  std::uint32_t declaration = 0;  // Number of the job's declared value, from 1; 0: none.
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;

  bool operator==(const UnknownReadSource&) const = default;
};

// Device memory of one rank at its high-water mark, by who booked it.
struct RankMemory {
  std::int32_t rank = 0;
  std::uint32_t device = 0;
  std::uint64_t peak_bytes = 0;  // Everything booked.
  std::uint64_t capacity_bytes = 0;
  std::uint64_t allocations_bytes = 0;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t nccl_bytes = 0;
  std::uint64_t context_bytes = 0;
  std::uint64_t bytes_per_second = 0;  // Of the device's memory; 0: not told.
  std::uint64_t refused_bytes = 0;     // The largest request that did not fit; 0: none.
  // Of allocations_bytes, kept for a backward pass; touched by the optimizer; 0: not told.
  std::uint64_t activation_bytes = 0;
  std::uint64_t parameter_bytes = 0;
  std::uint64_t gradient_bytes = 0;
  std::uint64_t optimizer_state_bytes = 0;

  bool operator==(const RankMemory&) const = default;
};

// Seconds. low and high: the iteration time is between them with 90 % probability, by the errors of
// the estimates and of the host's time.
struct IterationSeconds {
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double low = 0;
  double high = 0;
};

// Of a whole program: until its slowest rank had done its last work. low, high: as of an iteration.
struct ProgramSeconds {
  double seconds = 0;
  double low = 0;
  double high = 0;
  std::uint64_t launches = 0;  // Of all ranks.
};

// Target on which the job ran: its cluster with every default filled in, and how much of it was
// used.
struct Target {
  std::uint32_t servers = 0;
  std::uint32_t ranks = 0;  // Mirrored ones included.
  // GPUs of these servers on which a process has booked memory; nothing: not known yet. Of a folded
  // job: as many as there are ranks.
  std::optional<std::uint32_t> used_gpus;
  cluster::ClusterSpec cluster;
};

struct BreakdownShares {
  double compute = 0;
  double exposed_communication = 0;
  double idle = 0;
  double host = 0;
};

struct CoverageShares {
  double measured = 0;
  double interpolated = 0;
  double modelled = 0;
  double assumed = 0;
};

// Summary of a folded job: what ran, and what was mirrored from it.
struct FoldingSummary {
  std::uint32_t ranks = 0;
  std::uint32_t mirrored = 0;
  std::uint32_t classes = 1;
  std::vector<std::uint32_t> live;
  // Collectives with small values in which mirrored ranks gave what a live one gave, although their
  // own would differ.
  std::uint64_t guessed_collectives = 0;
  std::vector<NamedAmount> guessed_call_sites;  // Where the program calls them, most first.
  // Where live ranks that are taken to be alike have launched other work, most first; how often in
  // all.
  std::vector<NamedAmount> work_differences;
  std::uint64_t work_differences_total = 0;
};

struct Prediction {
  std::uint32_t measured_iterations = 0;
  std::optional<Target> target;
  std::optional<HostTime> host_time;
  std::optional<FoldingSummary> folding;
  // Set when measured_iterations > 0.
  std::optional<IterationSeconds> iteration_seconds;
  std::vector<std::uint64_t> iteration_picoseconds;  // Each measured one, exact.
  std::uint32_t first_measured = 1;                  // Its number, warm-up counted from 1.
  std::optional<SteadyIteration> steady;             // Set with iteration_seconds, as the next two.
  std::optional<Throughput> throughput;
  std::vector<ExtraWork> extra_work;  // Most expensive first.
  std::optional<Unevenness> unevenness;
  std::optional<RankBalance> balance;  // Set with iteration_seconds.
  std::optional<TokenCount> tokens;    // Set with iteration_seconds.
  std::optional<double> tokens_per_second;
  std::optional<double> model_flops_utilization;
  bool model_flops_declared = false;      // By its parameters; else derived from launches.
  std::optional<MatrixRate> matrix_rate;  // Of an iteration, or the program; where there is any.
  std::optional<Energy> energy;           // The same; where the GPU's power is known.
  // Set at the end when measured_iterations is 0; what follows then tells of the program, not of
  // iterations.
  std::optional<ProgramSeconds> program;
  std::optional<BreakdownShares> breakdown;
  std::optional<CoverageShares> coverage;
  std::optional<AssumedWork> assumed_work;   // Of an iteration, where something is assumed.
  std::optional<SlowerRanks> slower_ranks;   // Of an iteration, where ranks vary.
  std::vector<NamedAmount> assumed_kernels;  // Busy picoseconds, largest first.
  std::vector<KernelTime> kernels;           // Largest first; of one iteration, or the program.
  std::vector<RankMemory> memory;            // By rank.
  std::vector<NamedAmount> unsupported_calls;
  std::uint64_t unknown_reads = 0;
  std::vector<UnknownReadSource> unknown_read_sources;  // Most reads first.
  std::vector<std::string> unused_declarations;         // Of the job, that nothing read.
  std::uint64_t clamped_records = 0;
  std::vector<Finding> diagnosis;  // Most expensive first; by controller/diagnosis.
};

// The rank closest to (or furthest beyond) its capacity; nullptr without memory reports.
const RankMemory* WorstRank(const Prediction& prediction);

// `status.prediction` of the document.
nlohmann::json ToJson(const Prediction& prediction);

}  // namespace eidolon::controller::job
