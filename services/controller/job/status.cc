// The remaining time is estimated from the iterations behind the first one: starting the program
// takes long and says nothing about iterations. Two finished iterations are therefore the least
// from which an estimate is made. An absent part of a status is left out, as readers tell "unknown"
// from zero by that. FormatBytes uses binary units (1 GiB = 2^30 bytes).
#include "services/controller/job/status.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;
using nlohmann::json;

json ToJson(const Progress& progress) {
  json out = {{"iteration", progress.iteration},
              {"of", progress.of},
              {"percent", progress.percent},
              {"virtualSeconds", progress.virtual_seconds},
              {"launches", progress.launches}};
  if (progress.remaining_seconds) out["remainingSeconds"] = *progress.remaining_seconds;
  if (!progress.waiting.empty()) out["waiting"] = progress.waiting;
  return out;
}

}  // namespace

Progress ComputeProgress(std::uint32_t finished, std::uint32_t wanted, std::int64_t first_ns,
                         std::int64_t now_ns) {
  Progress progress;
  progress.iteration = finished;
  progress.of = wanted;
  progress.percent = wanted == 0 ? 0 : 100.0 * finished / wanted;
  if (finished >= wanted) {
    progress.remaining_seconds = 0;
  } else if (finished >= 2) {
    const double each = static_cast<double>(now_ns - first_ns) * 1e-9 / (finished - 1);
    progress.remaining_seconds = each * (wanted - finished);
  }
  return progress;
}

json ToJson(const JobStatus& status) {
  json out = {{"observedGeneration", status.observed_generation},
              {"phase", Name(status.conditions.phase())},
              {"conditions", status.conditions.ToJson()}};
  if (status.progress) out["progress"] = ToJson(*status.progress);
  if (status.prediction) out["prediction"] = ToJson(*status.prediction);
  if (status.simulation) {
    out["simulation"] = {{"wallSeconds", status.simulation->wall_seconds}};
    if (status.simulation->slowdown) out["simulation"]["slowdown"] = *status.simulation->slowdown;
    if (const auto& machine = status.simulation->machine) {
      out["simulation"]["machine"] = {{"processors", machine->processors},
                                      {"busyShare", machine->busy}};
    }
  }
  if (!status.start_time.empty()) out["startTime"] = status.start_time;
  if (!status.completion_time.empty()) out["completionTime"] = status.completion_time;
  if (!status.warnings.empty()) out["warnings"] = status.warnings;
  return out;
}

std::string FormatBytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string DescribeOutOfMemory(const Prediction& prediction) {
  const RankMemory* worst = WorstRank(prediction);
  if (worst == nullptr) return "";
  std::string text =
      StrCat("Rank ", worst->rank, " peaked at ", FormatBytes(worst->peak_bytes), " of ",
             FormatBytes(worst->capacity_bytes), " (parameters and allocator segments ",
             FormatBytes(worst->allocations_bytes), ", workspace ",
             FormatBytes(worst->workspace_bytes), ", NCCL ", FormatBytes(worst->nccl_bytes),
             ", CUDA context ", FormatBytes(worst->context_bytes), ")");
  if (worst->refused_bytes == 0) return text + ".";
  const std::uint64_t needed = worst->peak_bytes + worst->refused_bytes;
  text += StrCat("; a further ", FormatBytes(worst->refused_bytes), " did not fit.");
  if (needed > worst->capacity_bytes) {
    text += StrCat(" The program came no further, so it needs ", FormatBytes(needed),
                   " or more: at least ", FormatBytes(needed - worst->capacity_bytes),
                   " over what the GPU has.");
  }
  return text;
}

}  // namespace eidolon::controller::job
