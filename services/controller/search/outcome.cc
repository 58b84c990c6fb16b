// A row is one of a sweep with what a search chooses by besides: the band of the time, and memory.
// Fields that follow the time take over its relative band, so that points are compared by what is
// predicted and not by its last digits. Errors of two predictions of one program are largely the
// same error, so that overlapping bands say "not shown", never "equal": the set around the best one
// is rather too large than too small. Memory and prices have no band.
#include "services/controller/search/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "services/base/seconds.h"
#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/status.h"
#include "services/controller/search/front.h"
#include "services/controller/search/goal.h"
#include "services/controller/search/loss.h"
#include "services/controller/search/range.h"
#include "services/controller/search/report_field.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::controller::search {
namespace {

using base::StrCat;
using nlohmann::json;
using shown::At;
using shown::NumberAt;
using shown::TextAt;
using Band = ReportField::Band;

constexpr std::size_t kNamedMax = 8;  // Of points in one sentence.

std::string BytesOf(double bytes) { return job::FormatBytes(static_cast<std::uint64_t>(bytes)); }

void AddMemory(const json& prediction, json* row) {
  const double capacity = NumberAt(prediction, {"memory", "capacityBytes"});
  if (!(capacity > 0)) return;
  const double peak = NumberAt(prediction, {"memory", "peakReservedBytes"});
  const double refused = NumberAt(prediction, {"memory", "refusedBytes"});
  (*row)["memoryCapacityBytes"] = capacity;
  (*row)["peakMemoryBytes"] = peak;
  if (refused > 0) (*row)["neededMemoryBytes"] = peak + refused;
  if (refused > 0) return;
  (*row)["headroomBytes"] = capacity - peak;
  (*row)["memoryHeadroom"] = (capacity - peak) / capacity;
}

struct Verdict {
  int order = 0;  // Of its part of the table.
  std::string_view text;
  std::string why;
};

// Judges a point without a prediction.
Verdict JudgeUnpredicted(const json& row) {
  const double needed = NumberAt(row, {"neededMemoryBytes"});
  if (TextAt(row, {"reason"}) == job::reason::kOutOfMemory && needed > 0) {
    return {2, kDoesNotFit,
            StrCat("needs ", BytesOf(needed), " or more of ",
                   BytesOf(NumberAt(row, {"memoryCapacityBytes"})))};
  }
  return {3, kFailed, StrCat(TextAt(row, {"reason"}), ": ", TextAt(row, {"message"}))};
}

Bindings BindingsOfRow(const json& row) {
  Bindings bindings;
  for (const auto& [name, value] : At(row, {"point"}).items()) {
    if (value.is_boolean()) bindings[name] = value.get<bool>();
    if (value.is_number_integer()) bindings[name] = value.get<std::int64_t>();
    if (value.is_number_float()) bindings[name] = value.get<double>();
    if (value.is_string()) bindings[name] = value.get<std::string>();
  }
  for (const ReportField& field : ReportFields()) {
    if (row.contains(field.name))
      bindings[std::string(field.name)] = NumberAt(row, {field.name.data()});
  }
  return bindings;
}

// Returns why a predicted point cannot be chosen; nothing: it can.
std::optional<Verdict> JudgeCandidate(const SearchSpec& spec, const json& row) {
  const double capacity = NumberAt(row, {"memoryCapacityBytes"});
  const double peak = NumberAt(row, {"peakMemoryBytes"});
  if (peak > capacity) {
    return Verdict{2, kDoesNotFit, StrCat("needs ", BytesOf(peak), " of ", BytesOf(capacity))};
  }
  const Bindings bindings = BindingsOfRow(row);
  if (!bindings.contains(spec.objective.field)) {
    const bool lacks_tokens = spec.objective.field == "tokensPerSecond";
    return Verdict{3, kFailed,
                   StrCat("its report has no ", spec.objective.field,
                          lacks_tokens ? "; declare job.iterations.tokens" : "")};
  }
  for (const Expression& condition : spec.objective.subject_to) {
    const auto holds = condition.Holds(bindings);
    if (!holds) {
      return Verdict{1, kExcluded, StrCat("'", condition.text(), "': ", holds.error().message)};
    }
    if (*holds) continue;
    std::vector<std::string> values;
    for (const std::string& name : condition.names()) {
      values.push_back(StrCat(name, " is ", TextOfValue(bindings.at(name))));
    }
    return Verdict{1, kExcluded,
                   StrCat("'", condition.text(), "' does not hold: ", base::Join(values, ", "))};
  }
  return std::nullopt;
}

void AddLoss(const Loss& loss, json* row) {
  (*row)["lostTo"] = loss.to;
  (*row)["bestCase"] = loss.best_case;
  (*row)["winnersWorstCase"] = loss.worst_case;
}

// Judges the rows whose jobs were ended early. Which point beats them depends on the objective, so
// that it is found anew.
void JudgePartial(const SearchSpec& spec, std::vector<json>* rows) {
  std::vector<const json*> candidates;
  for (const json& row : *rows) {
    if (IsChoosable(row)) candidates.push_back(&row);
  }
  for (json& row : *rows) {
    const std::size_t measured = PartialOf(row);
    if (measured == 0 || TextAt(row, {"verdict"}) != kDropped) continue;
    const auto loss = LossOf(spec, row, candidates);
    if (!loss) continue;
    AddLoss(*loss, &row);
    row["why"] = StrCat("after ", measured, measured == 1 ? " iteration " : " iterations ",
                        Describe(*loss, spec.objective));
  }
}

// Returns how far a value is from the best one, "+12.3 %".
std::string Distance(double value, double best) {
  if (best == 0) return "";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%+.1f %%", (value / best - 1) * 100);
  return text.data();
}

std::string NamesOf(const std::vector<std::string>& names) {
  std::vector<std::string> shown(
      names.begin(),
      names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamedMax)));
  std::string text = base::Join(shown, "; ");
  if (names.size() > kNamedMax) text += StrCat("; and ", names.size() - kNamedMax, " more");
  return text;
}

std::vector<std::string> NamesWith(const std::vector<json>& rows, std::string_view verdict) {
  std::vector<std::string> names;
  for (const json& row : rows) {
    if (TextAt(row, {"verdict"}) == verdict) names.push_back(TextAt(row, {"name"}));
  }
  return names;
}

}  // namespace

json RowOf(const Point& point, const json& job, const SearchSpec& spec) {
  sweep::SweepSpec priced;
  priced.prices = spec.prices;
  json row = sweep::RowOf(point.values, job, priced, /*replayed=*/false);
  row.erase("replayed");
  const json& prediction = At(job, {"status", "prediction"});
  AddMemory(prediction, &row);
  if (!sweep::HasPrediction(row)) return row;
  const shown::Headline time = shown::HeadlineOf(prediction);
  if (time.is_iteration && time.low > 0) {
    row["iterationSecondsLow"] = time.low;
    row["iterationSecondsHigh"] = time.high;
  }
  const double utilization = NumberAt(prediction, {"modelFlopsUtilization"});
  if (utilization > 0) row["modelFlopsUtilization"] = utilization;
  return row;
}

json PartialRowOf(const Point& point, json job, const SearchSpec& spec) {
  const std::int64_t measured = shown::CountAt(job, {"status", "prediction", "measuredIterations"});
  job["status"]["phase"] = "Complete";  // Rows have no prediction of jobs in other phases.
  json row = RowOf(point, job, spec);
  if (!row.contains("memoryCapacityBytes")) row.erase("headroomBytes");
  row["phase"] = "Dropped";
  row["reason"] = "Dropped";
  row["message"] = "";
  MarkPartial(static_cast<std::size_t>(measured), &row);
  return row;
}

json RefusedRowOf(const Point& point) {
  json fields = json::object();
  for (const auto& [name, value] : point.values) fields[name] = value;
  std::string message = job::Describe(point.problems);
  while (message.ends_with('\n')) message.pop_back();
  std::ranges::replace(message, '\n', ';');
  return {{"name", point.name},  {"point", fields},    {"phase", "Refused"},
          {"reason", "Refused"}, {"message", message}, {"wallSeconds", 0}};
}

bool IsCandidate(const SearchSpec& spec, const json& row) {
  return sweep::HasPrediction(row) && PartialOf(row) == 0 && !JudgeCandidate(spec, row);
}

void JudgeRows(const SearchSpec& spec, std::vector<json>* rows) {
  const ReportField& field = *FindReportField(spec.objective.field);
  const double sign = spec.objective.maximize ? -1 : 1;
  struct Judged {
    Verdict verdict;
    Range range;
    json row;
  };
  std::vector<Judged> all;
  for (json& row : *rows) {
    Verdict verdict = {0, field.band == Band::kNone ? kWorse : kSlower, ""};
    if (!sweep::HasPrediction(row)) {
      verdict = JudgeUnpredicted(row);
    } else if (PartialOf(row) > 0) {
      verdict = {1, kDropped, ""};
    } else if (auto why_not = JudgeCandidate(spec, row)) {
      verdict = std::move(*why_not);
    }
    const Range range = RangeOf(row, field);
    all.push_back({std::move(verdict), range, std::move(row)});
  }
  std::ranges::stable_sort(all, [sign](const Judged& a, const Judged& b) {
    if (a.verdict.order != b.verdict.order) return a.verdict.order < b.verdict.order;
    return a.verdict.order < 2 && sign * a.range.value < sign * b.range.value;
  });
  const bool has_best = !all.empty() && all.front().verdict.order == 0;
  rows->clear();
  for (Judged& judged : all) {
    if (has_best && judged.verdict.order == 0) {
      const Range& best = all.front().range;
      judged.verdict.why = Distance(judged.range.value, best.value);
      if (judged.range.low <= best.high && best.low <= judged.range.high) {
        judged.verdict.text = kAlike;
      } else {
        const Goal goal = {spec.objective.maximize, spec.objective.field};
        const json& winner = rows->front();
        AddLoss({TextAt(winner, {"name"}), BestCaseOf(judged.row, goal), WorstCaseOf(winner, goal)},
                &judged.row);
      }
    }
    judged.row["verdict"] = judged.verdict.text;
    judged.row["why"] = judged.verdict.why;
    rows->push_back(std::move(judged.row));
  }
  if (!has_best) return;
  rows->front()["verdict"] = kBest;
  rows->front()["why"] = "";
  JudgePartial(spec, rows);
}

const Point* BestOf(const Findings& findings) {
  if (findings.rows.empty() || TextAt(findings.rows.front(), {"verdict"}) != kBest) return nullptr;
  const std::string name = TextAt(findings.rows.front(), {"name"});
  const auto found = std::ranges::find(findings.grid.points, name, &Point::name);
  return found == findings.grid.points.end() ? nullptr : &*found;
}

std::string SummaryOf(const Findings& findings) {
  const Point* best = BestOf(findings);
  std::string text;
  if (best == nullptr) {
    text = StrCat("No point can be chosen: ", NamesWith(findings.rows, kDoesNotFit).size(),
                  " do not fit, ", NamesWith(findings.rows, kExcluded).size(), " are excluded, ",
                  NamesWith(findings.rows, kFailed).size(), " have failed");
  } else {
    const json& row = findings.rows.front();
    const std::vector<std::string> alike = NamesWith(findings.rows, kAlike);
    text = StrCat("Best is ", best->name, ": ",
                  base::FormatSeconds(NumberAt(row, {"iterationSeconds"})), " an iteration; ",
                  alike.empty() ? "no other point lies within its band"
                                : StrCat(alike.size(), alike.size() == 1 ? " other" : " others",
                                         " cannot be told apart from it: ", NamesOf(alike)));
  }
  if (const auto dropped = NamesWith(findings.rows, kDropped).size(); dropped > 0) {
    text += StrCat("; ", dropped, dropped == 1 ? " was" : " were", " dropped early");
  }
  if (!findings.spec.goals.empty()) {
    text += StrCat("; on the Pareto front: ", NamesOf(FrontOf(findings.rows)));
  }
  if (findings.not_tried.empty()) return text + ".";
  return text + StrCat("; ", findings.not_tried.size(),
                       findings.not_tried.size() == 1 ? " point was" : " points were",
                       " not tried, because the budget is spent: ", NamesOf(findings.not_tried),
                       ".");
}

json ToJson(const Findings& findings) {
  json cuts = json::array();
  for (const Cut& cut : findings.grid.cuts) {
    cuts.push_back({{"constraint", cut.constraint}, {"points", cut.points}});
    if (!cut.reason.empty()) cuts.back()["reason"] = cut.reason;
  }
  const Objective& objective = findings.spec.objective;
  json out = {{"objective", {{objective.maximize ? "maximize" : "minimize", objective.field}}},
              {"combinations", findings.grid.combinations},
              {"cut", cuts},
              {"points", findings.rows},
              {"notTried", findings.not_tried},
              {"alike", NamesWith(findings.rows, kAlike)},
              {"summary", SummaryOf(findings)}};
  if (!findings.spec.goals.empty()) out["front"] = FrontOf(findings.rows);
  if (!findings.spec.preset.empty()) {
    out["preset"] = {{"name", findings.spec.preset}, {"lacking", findings.spec.lacking}};
  }
  if (const Point* best = BestOf(findings)) {
    out["best"] = {{"name", best->name},
                   {"point", findings.rows.front()["point"]},
                   {"job", DocumentOf(*best, "best")}};
  }
  return out;
}

}  // namespace eidolon::controller::search
