// These options are what of a job's document and placement decides how its reports become a
// prediction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/job/host_model.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::job {

struct MeasurementOptions {
  std::uint32_t ranks = 1;  // That run.
  std::uint32_t gpus = 0;   // Of the job, those of mirrored ranks included; 0: as many as run.
  std::uint32_t warmup = 3;
  std::uint32_t measure = 5;
  std::uint64_t tokens = 0;   // Of the job in an iteration, declared; 0: not.
  std::uint64_t samples = 0;  // The same.
  std::uint64_t parameters = 0;
  double peak_flops_per_gpu = 0;  // 0: unknown, no utilization is reported.
  HostTime host_time;
  std::optional<Target> target;
  std::optional<FoldingSummary> folding;
  std::map<std::int32_t, double> weights;  // Folded: for how many ranks each live one stands.
  std::vector<std::string> declarations;   // What the job says of unknown values, from number 1.
};

}  // namespace eidolon::controller::job
