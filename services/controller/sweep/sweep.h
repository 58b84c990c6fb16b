// A sweep: one job on every combination of values of some fields. What a file of 'eidolon sweep' or
// a SimulationSweep says, and the points that it has. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/controller/job/job.h"
#include "services/controller/job/metadata.h"
#include "services/controller/job/problem.h"
#include "services/controller/sweep/prices.h"

namespace eidolon::controller::sweep {

inline constexpr std::string_view kSweepKind = "SimulationSweep";

// A value for each swept field, in the order of their names. Fields are paths below a job's spec,
// with dots: "cluster.server.nics.gbps", "env.NCCL_ALGO".
using SweepPoint = std::vector<std::pair<std::string, nlohmann::json>>;

struct SweepSpec {
  std::string job_file;   // Of a SimulationJob; or
  nlohmann::json job;     // the spec of one, or null; or
  std::string recording;  // the file of a recording, which may come with what it says of its job.
  std::vector<std::pair<std::string, std::vector<nlohmann::json>>> matrix;
  Prices prices;
  std::size_t concurrency = 1;  // Jobs of a SimulationSweep that are not over.
  bool may_replay = true;       // Where a recording answers for a point.
  bool suspend = false;         // No point begins; jobs that exist go on.
};
inline constexpr std::size_t kSweepPointsMax = 10'000;     // Of a file.
inline constexpr std::size_t kSweepObjectPointsMax = 500;  // Of an object, whose status has all.
inline constexpr std::int64_t kSweepConcurrencyMax = 64;
// Jobs are named after a sweep.
inline constexpr std::size_t kSweepNameMax = 40;

// The error names the field. `text` is YAML or JSON: a SimulationSweep, or what its spec says, in
// which the job may be the name of a file:
//   {job: FILE | SPEC | recording: FILE, matrix: {PATH: [VALUE, ...]}, price: {GPU: NUMBER},
//    currency: CODE}
base::Result<SweepSpec> ParseSweepFile(std::string_view text);

struct ParsedSweep {
  job::Metadata metadata;
  SweepSpec spec;
  job::Problems problems;  // Empty: the document is acceptable by itself.
};
// Parses a SimulationSweep for a controller. A point that describes no job is none of its problems,
// as long as another one does.
ParsedSweep ParseSweep(const nlohmann::json& document, job::Mode mode);

// Every combination, the last field changing fastest.
std::vector<SweepPoint> PointsOf(const SweepSpec& spec);
// Returns whether a recording answers for other values of the field: it says nothing about the
// program.
bool IsReplayed(std::string_view path);
// The values of the fields for which the program must run.
SweepPoint RunPartOf(const SweepPoint& point);
// "cluster.server.gpu=B200-SXM-180GB hostModel.kind=fixed"; the same for equal points.
std::string NameOf(const SweepPoint& point);
void ApplyPoint(const SweepPoint& point, nlohmann::json* job);
// A value as a variable of the environment has it.
std::string TextOf(const nlohmann::json& value);

// The spec that replays a recording of a job of this spec: what of it says how, not what, to
// predict.
nlohmann::json ReplaySpecOf(const nlohmann::json& spec, const std::string& recording);
// The same of the spec that a recording holds, whose own `replay` is left out. Without a variation
// it is of a version in which all GPUs of a job were alike, whereas today's default is another.
nlohmann::json ReplaySpecOfRecorded(nlohmann::json spec, const std::string& recording);

}  // namespace eidolon::controller::sweep
