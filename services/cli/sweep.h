// A sweep: one job on every combination of values of some fields. Pure: the command runs the jobs.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli {

// A value for each swept field, in the order of their names. Fields are paths below a job's spec,
// with dots: "cluster.server.nics.gbps", "env.NCCL_ALGO".
using SweepPoint = std::vector<std::pair<std::string, nlohmann::json>>;

struct SweepSpec {
  std::string job;        // File of a SimulationJob; or
  std::string recording;  // of a recording.
  std::vector<std::pair<std::string, std::vector<nlohmann::json>>> matrix;
  std::vector<std::pair<std::string, double>> prices;  // Of a GPU for an hour, by model.
};
inline constexpr std::size_t kSweepPointsMax = 10'000;

// The error names the field. `text` is YAML or JSON:
//   {job: FILE | recording: FILE, matrix: {PATH: [VALUE, ...]}, price: {GPU: NUMBER}}
base::Result<SweepSpec> ParseSweep(std::string_view text);
// Every combination, the last field changing fastest.
std::vector<SweepPoint> PointsOf(const SweepSpec& spec);
// Whether a recording answers for other values of the field: it says nothing about the program.
bool IsReplayed(std::string_view path);
// The values of the fields for which the program must run.
SweepPoint RunPartOf(const SweepPoint& point);
// "cluster.server.gpu=B200-SXM-180GB hostModel.kind=fixed"; the same for equal points.
std::string NameOf(const SweepPoint& point);
void ApplyPoint(const SweepPoint& point, nlohmann::json* job);

// What one point came to. `job` is the document of the job, which is over.
nlohmann::json RowOf(const SweepPoint& point, const nlohmann::json& job, const SweepSpec& spec,
                     bool replayed);
// Marks the rows that no other one beats in both throughput and cost (without prices: memory
// head-room), and puts the fastest first; jobs that have no prediction come last.
void RankRows(std::vector<nlohmann::json>* rows);

std::string SweepTable(const std::vector<nlohmann::json>& rows);
std::string SweepCsv(const std::vector<nlohmann::json>& rows);
// A point for each row: throughput against cost, or head-room.
std::string SweepSvg(const std::vector<nlohmann::json>& rows);

}  // namespace eidolon::cli
