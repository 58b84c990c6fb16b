// A tuner's point becomes one of the grid or is refused with the values that there are, so that the
// journal holds the same names whether the grid or a tuner has asked. Numbers are compared by
// value: tuners make 4.0 of 4. A result from elsewhere goes through the same function as that of a
// job, as a document that says what a report would say, so that both have the same derived fields.
#include "services/controller/search/ask.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/fields.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/range.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::controller::search {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using job::Fields;
using nlohmann::json;
using shown::At;
using shown::TextAt;

constexpr double kSecondsMost = 1e9;
constexpr double kAmountMost = 1e18;

std::vector<std::string> NamesOfSpace(const Space& space) {
  std::vector<std::string> names;
  for (const auto& [name, values] : space) names.push_back(name);
  return names;
}

std::string TextsOf(const std::vector<json>& values) {
  constexpr std::size_t kShownMax = 20;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(values.size(), kShownMax); ++i) {
    texts.push_back(sweep::TextOf(values[i]));
  }
  if (values.size() > kShownMax) texts.push_back("...");
  return base::Join(texts, ", ");
}

Result<void> CheckNames(const SearchSpec& spec, const json& given) {
  const std::vector<std::string> names = NamesOfSpace(spec.space);
  for (const auto& [name, unused] : given.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("'", name, "' is not a parameter", job::DidYouMean(name, names),
                       "; parameters: ", base::Join(names, ", ")));
  }
  return {};
}

std::string DescribeProblems(const job::Problems& problems) {
  std::string text = job::Describe(problems);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// What a report would say of memory; null: nothing is known.
json MemoryOf(Fields* fields, bool is_out_of_memory) {
  json memory = json::object();
  const std::pair<const char*, const char*> names[] = {{"peakMemoryBytes", "peakReservedBytes"},
                                                       {"memoryCapacityBytes", "capacityBytes"}};
  for (const auto& [told, reported] : names) {
    if (!fields->Has(told)) continue;
    memory[reported] = fields->Number(told, {.min = 0, .max = kAmountMost}, 0);
  }
  if (!is_out_of_memory) return memory;
  const double peak = memory.value("peakReservedBytes", 0.0);
  const double needed = fields->Number("neededMemoryBytes", {.min = 0, .max = kAmountMost}, 0);
  for (const char* name : {"neededMemoryBytes", "memoryCapacityBytes"}) {
    if (!fields->Has(name)) fields->Report(name, "is required with outOfMemory");
  }
  memory["peakReservedBytes"] = peak;
  memory["refusedBytes"] = std::max(needed - peak, 0.0);
  return memory;
}

// The tokens of an iteration that a point's job declares; 0: none.
double TokensOf(const Point& point) { return shown::NumberAt(point.job, {"iterations", "tokens"}); }

// Names the fields of a report about time, throughput and cluster.
json PredictionOf(Fields* fields, const Point& point) {
  const job::NumberRule time = {.min = 0, .max = kSecondsMost, .min_excluded = true};
  const double seconds = fields->Number("iterationSeconds", time, 1);
  const double low = fields->Number("iterationSecondsLow", time, seconds);
  const double high = fields->Number("iterationSecondsHigh", time, seconds);
  if (!fields->Has("iterationSeconds")) {
    fields->Report("iterationSeconds",
                   "is required, unless the result is {\"outOfMemory\": true, ...} or "
                   "{\"failed\": \"why\"}");
  } else if (low > seconds || high < seconds) {
    fields->Report("iterationSecondsLow", "and iterationSecondsHigh must enclose iterationSeconds");
  }
  const job::NumberRule amount = {.min = 0, .max = kAmountMost, .min_excluded = true};
  const double tokens = fields->Number("tokensPerSecond", amount, TokensOf(point) / seconds);
  json prediction = {{"target", point.target},
                     {"iterationSeconds", {{"mean", seconds}}},
                     {"steadyIteration", {{"seconds", seconds}, {"low", low}, {"high", high}}}};
  if (tokens > 0) prediction["tokensPerSecond"] = tokens;
  if (fields->Has("modelFlopsUtilization")) {
    prediction["modelFlopsUtilization"] = fields->Number("modelFlopsUtilization", {0, 1}, 0);
  }
  return prediction;
}

json JobThatEnded(const char* phase, const std::string& reason, const std::string& message) {
  const json condition = {
      {"type", phase}, {"status", "True"}, {"reason", reason}, {"message", message}};
  return {{"status", {{"phase", phase}, {"conditions", json::array({condition})}}}};
}

}  // namespace

json DescribeSearch(const SearchSpec& spec) {
  json space = json::object();
  std::size_t combinations = 1;
  for (const auto& [name, values] : spec.space) {
    space[name] = values;
    combinations *= values.size();
  }
  json constraints = json::array();
  for (const Expression& constraint : spec.constraints) constraints.push_back(constraint.text());
  json conditions = json::array();
  for (const Expression& each : spec.objective.subject_to) conditions.push_back(each.text());
  const json objective = {{"field", spec.objective.field},
                          {"direction", spec.objective.maximize ? "maximize" : "minimize"},
                          {"subjectTo", conditions}};
  return {{"space", space},
          {"combinations", combinations},
          {"constraints", constraints},
          {"objective", objective}};
}

Result<json> PointOfWords(const SearchSpec& spec, std::span<const std::string> words) {
  json given = json::object();
  for (const std::string& word : words) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at);
    if (at == word.npos || given.contains(name)) {
      return Fail(ErrorCode::kInvalidArgument, StrCat("'", word, "' is not NAME=VALUE",
                                                      at == word.npos ? "" : " of another name"));
    }
    const std::string text = word.substr(at + 1);
    given[name] = text;  // Stays for FindPoint to refuse.
    for (const auto& [parameter, values] : spec.space) {
      if (parameter != name) continue;
      const auto found = std::ranges::find(values, text, &sweep::TextOf);
      if (found != values.end()) given[name] = *found;
    }
  }
  return given;
}

Result<MadePoint> FindPoint(const SearchSpec& spec, const json& given) {
  if (!given.is_object()) {
    return Fail(ErrorCode::kInvalidArgument,
                "a point is an object of values by parameter, not " + job::DescribeValue(given));
  }
  if (auto known = CheckNames(spec, given); !known) return std::unexpected(known.error());
  sweep::SweepPoint values;
  for (const auto& [name, choices] : spec.space) {
    const auto entry = given.find(name);
    if (entry == given.end() && choices.size() > 1) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat(name, " is required: one of ", TextsOf(choices)));
    }
    const auto found = entry == given.end() ? choices.begin() : std::ranges::find(choices, *entry);
    if (found == choices.end()) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat(name, ": ", job::DescribeValue(*entry), " is none of its values, ",
                         TextsOf(choices)));
    }
    values.emplace_back(name, *found);
  }
  job::Problems problems;
  MadePoint made = MakePoint(spec, std::move(values), &problems);
  if (problems.empty()) return made;
  return Fail(ErrorCode::kInvalidArgument, DescribeProblems(problems));
}

Result<json> ToldRowOf(const SearchSpec& spec, const Point& point, const json& result) {
  if (!result.is_object()) {
    return Fail(ErrorCode::kInvalidArgument,
                "a result is an object of fields of a report, not " + job::DescribeValue(result));
  }
  job::Problems problems;
  Fields fields(result, "", &problems);
  const bool is_out_of_memory = fields.Bool("outOfMemory", false);
  const bool is_failed = fields.Has("failed");
  json job;
  if (is_failed) {
    job = JobThatEnded("Failed", "Told", fields.Text("failed"));
  } else if (is_out_of_memory) {
    job = JobThatEnded("Failed", std::string(job::reason::kOutOfMemory), "");
    job["status"]["prediction"]["memory"] = MemoryOf(&fields, true);
  } else {
    job = JobThatEnded("Complete", "Told", "");
    job["status"]["prediction"] = PredictionOf(&fields, point);
    job["status"]["prediction"]["memory"] = MemoryOf(&fields, false);
  }
  fields.Finish();
  if (!problems.empty()) {
    return Fail(ErrorCode::kInvalidArgument, DescribeProblems(problems));
  }
  json row = RowOf(point, job, spec);
  // A report always has memory, a result need not.
  if (!row.contains("memoryCapacityBytes")) row.erase("headroomBytes");
  row["told"] = true;
  return row;
}

json AnswerOf(const SearchSpec& spec, json row) {
  std::vector<json> rows = {std::move(row)};
  JudgeRows(spec, &rows);
  json& judged = rows.front();
  const bool is_predicted = TextAt(judged, {"verdict"}) == kBest;
  json answer = {{"name", judged["name"]},
                 {"point", judged["point"]},
                 {"verdict", is_predicted ? json(kPredicted) : judged["verdict"]},
                 {"why", judged["why"]}};
  if (is_predicted) {
    const Range range = RangeOf(judged, *FindReportField(spec.objective.field));
    answer["objective"] = {{"field", spec.objective.field},
                           {"value", range.value},
                           {"low", range.low},
                           {"high", range.high}};
  }
  for (const char* name : {"verdict", "why"}) judged.erase(name);
  answer["row"] = std::move(judged);
  return answer;
}

json AnswerWithout(const Point& point, const char* verdict, const std::string& why) {
  json values = json::object();
  for (const auto& [name, value] : point.values) values[name] = value;
  return {{"name", point.name}, {"point", values}, {"verdict", verdict}, {"why", why}};
}

json CutAnswerOf(const SearchSpec& spec, const MadePoint& made) {
  return AnswerWithout(made.point, kCut,
                       StrCat("'", spec.constraints[*made.cut].text(), "' does not hold"));
}

json RefusedAnswerOf(const std::string& why) { return {{"verdict", kRefused}, {"why", why}}; }

}  // namespace eidolon::controller::search
