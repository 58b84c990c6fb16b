// The status of a job: conditions, progress, prediction, cost of the simulation.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/job/condition.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::job {

struct Progress {
  std::uint32_t iteration = 0;  // Finished by every rank.
  std::uint32_t of = 0;
  double percent = 0;
  std::optional<double> remaining_seconds;  // Real time; unknown before the first iteration.
  double virtual_seconds = 0;
  std::uint64_t launches = 0;
  // Once nothing of the job has moved for kTellStillSeconds: what its processes were last seen
  // doing.
  std::string waiting;
};

constexpr std::int64_t kTellStillSeconds = 5;

// How the remaining real time is guessed: iterations take as long as those since the first one did.
// `first_ns` and `now_ns`: monotonic times of the first finished iteration and of now.
Progress ComputeProgress(std::uint32_t finished, std::uint32_t wanted, std::int64_t first_ns,
                         std::int64_t now_ns);

// The machine that simulated, while it did.
struct MachineLoad {
  std::uint32_t processors = 0;
  double busy = 0;  // Share of their time, with whatever else ran.
};

struct SimulationCost {
  double wall_seconds = 0;
  std::optional<double> slowdown;      // Real over virtual time.
  std::optional<MachineLoad> machine;  // Where one machine simulates everything.
};

struct JobStatus {
  std::int64_t observed_generation = 1;
  Conditions conditions;
  std::optional<Progress> progress;
  std::optional<Prediction> prediction;
  std::optional<SimulationCost> simulation;
  std::string start_time;       // RFC 3339; empty: not yet.
  std::string completion_time;  // RFC 3339; empty: not yet.
  std::vector<std::string> warnings;
};

nlohmann::json ToJson(const JobStatus& status);

// Returns what a user whose job ran out of memory needs: rank, request, use by category, what would
// fit.
std::string DescribeOutOfMemory(const Prediction& prediction);

// 61203283968 as "57.0 GiB".
std::string FormatBytes(std::uint64_t bytes);

}  // namespace eidolon::controller::job
