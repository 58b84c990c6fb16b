// A matrix may contain combinations that make no valid job, because some values exclude each other.
// They are results ("refused") and not errors, so a sweep is accepted as soon as one point is
// valid. IsReplayed is the contract with replays: a field belongs there only if a replay can take
// another value of it without running the program again. ReplaySpecOf names the fields that a
// replay keeps, so a new field of jobs is left out of replays until it is added there. The number
// of points is bounded before any is made.
#include "services/controller/sweep/sweep.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/job/document.h"
#include "services/controller/job/fields.h"
#include "services/controller/job/object_size.h"

namespace eidolon::controller::sweep {

using base::ErrorCode;
using base::Fail;
using base::StrCat;
using job::Fields;
using nlohmann::json;

namespace {

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

// "/matrix/cluster.server.gpu" as "matrix.cluster.server.gpu".
std::string FieldOf(std::string pointer) {
  if (pointer.empty()) return "the file";
  pointer.erase(0, 1);
  std::ranges::replace(pointer, '/', '.');
  return pointer;
}

void ReadMatrix(Fields* fields, std::size_t points_max, SweepSpec* spec) {
  const json* matrix = fields->Find("matrix");
  if (matrix == nullptr || !matrix->is_object() || matrix->empty()) {
    fields->Report("matrix", "is required: {PATH: [VALUE, ...]}, paths below the job's spec");
    return;
  }
  Fields entries(*matrix, fields->pointer() + "/matrix", fields->problems());
  std::size_t points = 1;
  for (const auto& [path, values] : matrix->items()) {
    if (path.empty() || !values.is_array() || values.empty()) {
      entries.Report(path, "must be a list of values");
      continue;
    }
    points *= std::min(values.size(), points_max + 1);
    if (points > points_max) {
      fields->Report("matrix", StrCat("has more than ", points_max, " combinations"));
      return;
    }
    spec->matrix.emplace_back(path, values.get<std::vector<json>>());
  }
}

// It is shown beside prices, and nothing is computed with it.
void CheckCurrency(Fields* fields) {
  const std::string currency = fields->Text("currency");
  const bool is_code = currency.size() == 3 &&
                       std::ranges::all_of(currency, [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!currency.empty() && !is_code) {
    fields->Report("currency", "must be a code of ISO 4217, such as USD");
  }
}

// `is_file`: the job may be the name of a file.
SweepSpec ReadSpec(Fields* fields, bool is_file) {
  SweepSpec spec;
  if (const json* value = fields->Find("job"); value != nullptr) {
    if (value->is_object()) {
      spec.job = *value;
    } else if (is_file) {
      spec.job_file = fields->Text("job");
    } else {
      fields->Report("job",
                     "must be the spec of a SimulationJob, not " + job::DescribeValue(*value));
    }
  }
  spec.recording = fields->Text("recording");
  ReadMatrix(fields, is_file ? kSweepPointsMax : kSweepObjectPointsMax, &spec);
  spec.prices = ReadPrices(fields);
  CheckCurrency(fields);
  spec.concurrency =
      static_cast<std::size_t>(fields->Integer("concurrency", {1, kSweepConcurrencyMax}, 1));
  spec.may_replay = fields->Choice("replays", {"auto", "off"}, "auto") == "auto";
  spec.suspend = fields->Bool("suspend", false);
  fields->Finish();
  const bool has_job = fields->Has("job");
  if (!has_job && !fields->Has("recording")) {
    fields->Report("job", "is required, or recording");
  } else if (is_file && has_job && fields->Has("recording")) {
    fields->Report("job", "cannot be given together with recording; keep one of them");
  }
  if (!spec.recording.empty() || !has_job) {
    for (const auto& [path, values] : spec.matrix) {
      if (IsReplayed(path)) continue;
      Fields(*fields->Find("matrix"), fields->pointer() + "/matrix", fields->problems())
          .Report(path,
                  "changes what the program does, which a recording cannot tell: give the job, so "
                  "that it can be run");
    }
  }
  return spec;
}

// Returns where a problem of a point's job comes from: a field of the matrix, or of the job.
std::string OriginOf(const std::string& pointer, const SweepSpec& spec) {
  constexpr std::string_view kSpec = "/spec/";
  if (!pointer.starts_with(kSpec)) return "/spec/job";
  for (const auto& [path, values] : spec.matrix) {
    std::string swept = path;
    std::ranges::replace(swept, '.', '/');
    const std::string_view below = std::string_view(pointer).substr(kSpec.size());
    if (below == swept || below.starts_with(swept + "/")) {
      return "/spec/matrix" + job::PointerTo(path);
    }
  }
  return "/spec/job" + pointer.substr(kSpec.size() - 1);
}

// The points as jobs. What is wrong with all of them is wrong with the sweep.
void CheckPoints(const SweepSpec& spec, job::Mode mode, job::Problems* problems) {
  job::Problems first;
  for (const SweepPoint& point : PointsOf(spec)) {
    json document = {{"apiVersion", job::kApiVersion},
                     {"kind", job::kJobKind},
                     {"metadata", {{"name", "point"}}},
                     {"spec", spec.job}};
    ApplyPoint(point, &document);
    json& made = document["spec"];
    const bool replays = made.is_object() && made.contains("replay");
    if (!spec.recording.empty() || replays) made["replay"]["recording"] = "/recording";
    const job::Problems found = job::ParseJob(document, mode).problems;
    if (found.empty()) return;
    if (first.empty()) first = found;
  }
  for (const job::Problem& problem : first) {
    problems->push_back({OriginOf(problem.pointer, spec), problem.detail});
  }
}

// The status has the values of every point.
void CheckPointsSize(const SweepSpec& spec, Fields* fields) {
  std::size_t points = 1;
  for (const auto& [path, values] : spec.matrix) points *= values.size();
  std::size_t bytes = 0;
  for (const auto& [path, values] : spec.matrix) {
    std::size_t once = values.size() * path.size();
    for (const json& value : values) once += job::SizeOf(value);
    bytes += points / values.size() * once;
  }
  if (bytes <= job::kPointsBytesMax) return;
  fields->Report("matrix",
                 StrCat("has values of ", bytes, " bytes in its ", points,
                        " combinations; the cluster can store at most ", job::kPointsBytesMax));
}

// What a controller cannot do with a sweep, whatever its points are.
void CheckFeasible(const SweepSpec& spec, job::Mode mode, Fields* fields) {
  if (mode == job::Mode::kKubernetes && !spec.recording.empty()) {
    fields->Report("recording", "exists in embedded mode only; give the job");
  }
  if (mode == job::Mode::kEmbedded && !spec.recording.empty() && !spec.recording.starts_with('/')) {
    fields->Report("recording", "must be an absolute path");
  }
  const json* matrix = fields->Find("matrix");
  if (matrix == nullptr || !matrix->is_object()) return;
  Fields entries(*matrix, fields->pointer() + "/matrix", fields->problems());
  for (const auto& [path, values] : spec.matrix) {
    const bool is_replay = path.starts_with("replay.");
    if (path == "replay.recording" || path == "replay") {
      entries.Report(path, "cannot be swept: a sweep has one recording");
    } else if (is_replay && mode == job::Mode::kKubernetes) {
      entries.Report(path, "exists in embedded mode only: there are no recordings on Kubernetes");
    } else if (is_replay && !spec.may_replay) {
      entries.Report(path, "needs replays, which spec.replays turns off");
    }
    if (path.starts_with("cluster.") && spec.job.is_object() && spec.job.contains("clusterRef")) {
      entries.Report(path,
                     "cannot be swept while the job names its cluster by clusterRef; describe it "
                     "in place as cluster, or sweep clusterRef.name");
    }
  }
  if (!spec.job.is_object()) return;
  Fields job(*fields->Find("job"), fields->pointer() + "/job", fields->problems());
  for (const char* name : {"suspend", "ttlSecondsAfterFinished", "replay"}) {
    if (job.Has(name)) job.Report(name, "cannot be given: the sweep begins and keeps its jobs");
  }
}

}  // namespace

base::Result<SweepSpec> ParseSweepFile(std::string_view text) {
  const auto fail = [](const std::string& what) {
    return Fail(ErrorCode::kInvalidArgument, "sweep: " + what);
  };
  const auto documents = job::ParseYaml(text);
  if (!documents) return std::unexpected(documents.error());
  if (documents->empty()) return fail("the file is empty");
  const json& document = documents->front();
  if (!document.is_object()) return fail("the file must be an object");
  job::Problems problems;
  SweepSpec spec;
  Fields fields(document, "", &problems);
  if (!document.contains("kind")) {
    spec = ReadSpec(&fields, /*is_file=*/true);
  } else {
    job::ReadMetadata(&fields, kSweepKind);
    fields.Ignore("status");
    if (auto inner = fields.Object("spec")) {
      spec = ReadSpec(&*inner, /*is_file=*/true);
    } else if (!fields.Has("spec")) {
      fields.Report("spec", "is required");
    }
    fields.Finish();
  }
  if (problems.empty()) return spec;
  std::vector<std::string> sentences;
  for (const job::Problem& problem : problems) {
    sentences.push_back(StrCat(FieldOf(problem.pointer), ": ", problem.detail));
  }
  return fail(base::Join(sentences, "; "));
}

ParsedSweep ParseSweep(const json& document, job::Mode mode) {
  ParsedSweep sweep;
  if (!document.is_object()) {
    sweep.problems.push_back({"", "must be an object, not " + job::DescribeValue(document)});
    return sweep;
  }
  Fields fields(document, "", &sweep.problems);
  sweep.metadata = job::ReadMetadata(&fields, kSweepKind);
  // The name has five letters of its own behind a prefix.
  const std::size_t length =
      std::max(sweep.metadata.name.size(), sweep.metadata.generate_name.size() + 6);
  if (length > kSweepNameMax && fields.Has("metadata")) {
    sweep.problems.push_back({"/metadata/name", StrCat("must have at most ", kSweepNameMax,
                                                       " characters: jobs are named after it")});
  }
  fields.Ignore("status");
  if (auto inner = fields.Object("spec")) {
    sweep.spec = ReadSpec(&*inner, /*is_file=*/false);
    CheckFeasible(sweep.spec, mode, &*inner);
    if (mode == job::Mode::kKubernetes) {
      job::CheckSpecSize(document, job::kJobSpecBytesMax, &sweep.problems);
      CheckPointsSize(sweep.spec, &*inner);
    }
    // A recording says itself what its job was.
    const bool has_job = sweep.spec.job.is_object();
    if (sweep.problems.empty() && has_job) CheckPoints(sweep.spec, mode, &sweep.problems);
  } else if (!fields.Has("spec")) {
    fields.Report("spec", "is required");
  }
  fields.Finish();
  return sweep;
}

std::vector<SweepPoint> PointsOf(const SweepSpec& spec) {
  std::vector<SweepPoint> points = {{}};
  for (const auto& [path, values] : spec.matrix) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const json& value : values) {
        longer.push_back(point);
        longer.back().emplace_back(path, value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

bool IsReplayed(std::string_view path) {
  if (path.starts_with("replay.")) return path != "replay.recording";
  if (path == "iterations.tokens" || path == "iterations.samples") return true;
  if (path.starts_with("cluster.server.")) return path != "cluster.server.gpusPerServer";
  return path == "cluster.fabric" || path.starts_with("cluster.fabric.");
}

SweepPoint RunPartOf(const SweepPoint& point) {
  SweepPoint part;
  for (const auto& field : point) {
    if (!IsReplayed(field.first)) part.push_back(field);
  }
  return part;
}

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string NameOf(const SweepPoint& point) {
  std::string name;
  for (const auto& [path, value] : point) {
    name += StrCat(name.empty() ? "" : " ", path, "=", TextOf(value));
  }
  return name;
}

void ApplyPoint(const SweepPoint& point, json* job) {
  for (const auto& [path, value] : point) {
    const std::vector<std::string> parts = PartsOf(path);
    json* at = &(*job)["spec"];
    if (parts.size() == 2 && parts[0] == "env") {
      if (!at->is_object()) *at = json::object();
      json kept = json::array();
      const json present = at->value("env", json::array());
      for (const json& variable : present.is_array() ? present : json::array()) {
        const bool is_named = variable.is_object() && variable.value("name", json()) == parts[1];
        if (!is_named) kept.push_back(variable);
      }
      kept.push_back({{"name", parts[1]}, {"value", TextOf(value)}});
      (*at)["env"] = std::move(kept);
      continue;
    }
    for (const std::string& part : parts) {
      if (!at->is_object()) *at = json::object();
      at = &(*at)[part];
    }
    *at = value;
  }
}

json ReplaySpecOf(const json& spec, const std::string& recording) {
  json replay = json::object();
  for (const char* name :
       {"cluster", "clusterRef", "servers", "ranksPerServer", "command", "env", "iterations",
        "hostModel", "variation", "variationSeed", "values", "limits", "folding", "replay"}) {
    if (spec.contains(name)) replay[name] = spec[name];
  }
  if (replay.contains("values") && replay["values"].is_object()) replay["values"].erase("declared");
  replay["replay"]["recording"] = recording;
  return replay;
}

json ReplaySpecOfRecorded(json spec, const std::string& recording) {
  spec.erase("replay");
  if (!spec.contains("variation")) spec["variation"] = "none";
  return ReplaySpecOf(spec, recording);
}

}  // namespace eidolon::controller::sweep
