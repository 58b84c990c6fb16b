// Both documents may come from other versions, so every access tolerates missing and differing
// types, and a value that one of them lacks is left out and not compared with zero. Times of
// kernels are divided by the ranks of their job, which makes jobs of different sizes comparable.
// The breakdown is compared in seconds: shares of two different lengths would show a change where
// nothing changed. Fields of the cluster come from the prediction's target if both have one, since
// it has all presets resolved; otherwise a preset and its expansion would differ.
#include "services/controller/shown/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/controller/shown/comparison_causes.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::controller::shown {
namespace {

using base::StrCat;
using nlohmann::json;

// Differences below are of the arithmetic, not of the jobs.
constexpr double kLeastChange = 1e-9;
// Fields of documents lie less deep; what lies deeper is compared as a whole.
constexpr int kNestingMax = 32;

json DescribeJob(const json& job) {
  const json& target = At(job, {"status", "prediction", "target"});
  return {{"name", TextAt(job, {"metadata", "name"})},
          {"namespace", TextAt(job, {"metadata", "namespace"})},
          {"phase", PhaseOf(job)},
          {"reason", TextAt(StandingCondition(job), {"reason"})},
          {"gpu", TextAt(target, {"cluster", "server", "gpu"})},
          {"servers", CountAt(target, {"servers"})},
          {"ranks", CountAt(target, {"ranks"})}};
}

// Returns the time of an iteration, or else of the whole program; null when neither is predicted.
json PredictedTime(const json& job) {
  const json& prediction = At(job, {"status", "prediction"});
  const Headline time = HeadlineOf(prediction);
  if (!(time.seconds > 0)) return json();
  return {{"what", time.is_iteration ? "iteration" : "program"},
          {"mean", time.seconds},
          {"low", time.low},
          {"high", time.high}};
}

json CompareTimes(const json& first, const json& second) {
  json compared = json::object();
  if (!first.is_null()) compared["first"] = first;
  if (!second.is_null()) compared["second"] = second;
  if (first.is_null() || second.is_null() || first["what"] != second["what"]) return compared;
  compared["speedup"] = NumberAt(first, {"mean"}) / NumberAt(second, {"mean"});
  compared["bandsOverlap"] = NumberAt(first, {"low"}) <= NumberAt(second, {"high"}) &&
                             NumberAt(second, {"low"}) <= NumberAt(first, {"high"});
  return compared;
}

// Null where neither job has the value.
json RowOf(const std::string& name, const json& first, const json& second) {
  json row = {{"name", name}};
  if (!first.is_null()) row["first"] = first;
  if (!second.is_null()) row["second"] = second;
  if (row.size() == 1) return json();
  const double before = NumberAt(row, {"first"});
  if (before > 0 && second.is_number()) row["change"] = second.get<double>() / before - 1;
  return row;
}

struct Named {
  std::string name;
  std::vector<const char*> path;
};

json Rows(const json& first, const json& second, const std::vector<Named>& named) {
  json rows = json::array();
  for (const Named& figure : named) {
    const auto value = [&](const json& tree) -> const json& {
      const json* at = &tree;
      for (const char* key : figure.path) at = &At(*at, {key});
      return *at;
    };
    json row = RowOf(figure.name, value(first), value(second));
    if (!row.is_null()) rows.push_back(std::move(row));
  }
  return rows;
}

// Seconds of each part of the time, which mean more than shares of different times.
json CompareBreakdowns(const std::array<const json*, 2>& predictions,
                       const std::array<json, 2>& times) {
  json rows = json::array();
  for (const char* part : {"compute", "exposedCommunication", "idle", "host"}) {
    std::array<json, 2> seconds;
    std::array<json, 2> shares;
    for (std::size_t i = 0; i < 2; ++i) {
      shares[i] = At(*predictions[i], {"breakdown", part});
      if (!shares[i].is_number() || times[i].is_null()) continue;
      seconds[i] = shares[i].get<double>() * NumberAt(times[i], {"mean"});
    }
    json row = RowOf(part, seconds[0], seconds[1]);
    if (row.is_null()) continue;
    if (shares[0].is_number()) row["firstShare"] = shares[0];
    if (shares[1].is_number()) row["secondShare"] = shares[1];
    rows.push_back(std::move(row));
  }
  return rows;
}

struct KernelSeconds {
  std::string operator_name;  // Empty: not known.
  std::array<double, 2> seconds{};
};
using SecondsByName = std::map<std::string, KernelSeconds>;

void AddKernels(const json& prediction, std::size_t which, SecondsByName* kernels,
                SecondsByName* collectives) {
  const json& listed = At(prediction, {"kernels"});
  if (!listed.is_array()) return;
  const auto ranks =
      static_cast<double>(std::max<std::int64_t>(CountAt(prediction, {"target", "ranks"}), 1));
  for (const json& kernel : listed) {
    const bool is_collective = TextAt(kernel, {"name"}) == "collective";
    SecondsByName& all = is_collective ? *collectives : *kernels;
    KernelSeconds& sum = all[TextAt(kernel, {is_collective ? "family" : "name"})];
    sum.seconds[which] += NumberAt(kernel, {"seconds"}) / ranks;
    if (!is_collective) sum.operator_name = TextAt(kernel, {"operator"});
  }
}

// Those that differ, the largest difference first.
json Differing(const SecondsByName& all) {
  std::vector<std::pair<double, json>> rows;
  for (const auto& [name, kernel] : all) {
    const std::array<double, 2>& seconds = kernel.seconds;
    const double difference = std::abs(seconds[1] - seconds[0]);
    if (!(difference > kLeastChange * std::max(seconds[0], seconds[1]))) continue;
    const auto value = [](double one) { return one > 0 ? json(one) : json(); };
    json row = RowOf(name, value(seconds[0]), value(seconds[1]));
    if (!row.is_null() && !kernel.operator_name.empty()) row["operator"] = kernel.operator_name;
    if (!row.is_null()) rows.emplace_back(difference, std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.first; });
  json sorted = json::array();
  for (auto& row : rows) sorted.push_back(std::move(row.second));
  return sorted;
}

// Values by path; a list of plain values is one value.
void AddLeaves(const json& value, const std::string& path, int depth,
               std::map<std::string, json>* leaves) {
  const bool is_list = value.is_array() && std::ranges::any_of(value, [](const json& inner) {
                         return inner.is_structured();
                       });
  if (depth >= kNestingMax || !(value.is_object() || is_list)) {
    if (!value.is_null()) (*leaves)[path] = value;
    return;
  }
  std::size_t at = 0;
  for (const auto& [key, inner] : value.items()) {
    const std::string below =
        is_list ? StrCat(path, "[", at++, "]") : (path.empty() ? key : StrCat(path, ".", key));
    AddLeaves(inner, below, depth + 1, leaves);
  }
}

// The job's document, and the cluster as the prediction has it: with all that its presets mean.
std::map<std::string, json> FieldsOf(const json& job, bool of_target) {
  std::map<std::string, json> leaves;
  json spec = At(job, {"spec"});
  const json& target = At(job, {"status", "prediction", "target"});
  if (of_target && spec.is_object()) spec.erase("cluster");
  AddLeaves(spec, "spec", 0, &leaves);
  if (!of_target) return leaves;
  AddLeaves(At(target, {"cluster"}), "cluster", 0, &leaves);
  for (const char* count : {"servers", "ranks"}) {
    if (At(target, {count}).is_number()) leaves[StrCat("target.", count)] = target[count];
  }
  return leaves;
}

json DifferingFields(const json& first, const json& second) {
  const auto has_target = [](const json& job) {
    return At(job, {"status", "prediction", "target", "cluster"}).is_object();
  };
  const bool of_target = has_target(first) && has_target(second);
  std::map<std::string, std::array<json, 2>> fields;
  for (auto& [path, value] : FieldsOf(first, of_target)) fields[path][0] = value;
  for (auto& [path, value] : FieldsOf(second, of_target)) fields[path][1] = value;
  json rows = json::array();
  for (const auto& [path, values] : fields) {
    if (values[0] == values[1]) continue;
    json row = {{"path", path}};
    if (!values[0].is_null()) row["first"] = values[0];
    if (!values[1].is_null()) row["second"] = values[1];
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

json CompareJobs(const json& first, const json& second) {
  const std::array<const json*, 2> predictions = {&At(first, {"status", "prediction"}),
                                                  &At(second, {"status", "prediction"})};
  const std::array<json, 2> times = {PredictedTime(first), PredictedTime(second)};
  SecondsByName kernels;
  SecondsByName collectives;
  for (std::size_t i = 0; i < 2; ++i) AddKernels(*predictions[i], i, &kernels, &collectives);
  const std::vector<Named> figures = {{"tokensPerSecond", {"tokensPerSecond"}},
                                      {"modelFlopsUtilization", {"modelFlopsUtilization"}}};
  const std::vector<Named> memory = {{"peakReservedBytes", {"peakReservedBytes"}},
                                     {"allocations", {"byCategory", "allocations"}},
                                     {"workspace", {"byCategory", "workspace"}},
                                     {"nccl", {"byCategory", "nccl"}},
                                     {"context", {"byCategory", "context"}},
                                     {"capacityBytes", {"capacityBytes"}},
                                     {"fits", {"fits"}}};
  const json fields = DifferingFields(first, second);
  json compared = {
      {"jobs", json::array({DescribeJob(first), DescribeJob(second)})},
      {"time", CompareTimes(times[0], times[1])},
      {"figures", Rows(*predictions[0], *predictions[1], figures)},
      {"breakdown", CompareBreakdowns(predictions, times)},
      {"memory", Rows(At(*predictions[0], {"memory"}), At(*predictions[1], {"memory"}), memory)},
      {"kernels", Differing(kernels)},
      {"collectives", Differing(collectives)},
      {"fields", fields}};
  json why = ExplainDifference(
      {.jobs = {&first, &second}, .times = {&times[0], &times[1]}, .fields = &fields});
  if (!why.is_null()) compared["why"] = std::move(why);
  return compared;
}

}  // namespace eidolon::controller::shown
