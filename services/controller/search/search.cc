// All problems of a document are found in one pass, each with its place, as for jobs and sweeps.
// What the grid of points adds to them, such as a constraint that divides by zero for one point, is
// found in points.cc before anything runs. A field of the design that has no effect yet is refused
// by its name, because a search that ignored it would answer another question.
#include "services/controller/search/search.h"

#include <algorithm>
#include <optional>
#include <set>

#include "services/base/text.h"
#include "services/controller/job/fields.h"
#include "services/controller/search/apply_preset.h"
#include "services/controller/search/fill.h"
#include "services/controller/search/preset.h"
#include "services/controller/search/report_field.h"

namespace eidolon::controller::search {
namespace {

using base::StrCat;
using job::Fields;
using nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::size_t kValuesMax = 1000;  // Of a parameter.
constexpr std::size_t kExpressionsMax = 100;
constexpr std::int64_t kRangeMax = std::int64_t{1} << 53;  // What JSON keeps exactly.

// The values of {from, to, step} or {from, to, times}.
std::vector<json> ReadRange(Fields* range) {
  const std::size_t before = range->ProblemCount();
  const std::int64_t from = range->Integer("from", {-kRangeMax, kRangeMax}, 0);
  const std::int64_t to = range->Integer("to", {-kRangeMax, kRangeMax}, 0);
  const bool multiplies = range->Has("times");
  const std::int64_t step = range->Integer("step", {1, kRangeMax}, 1);
  const std::int64_t times = range->Integer("times", {2, kRangeMax}, 2);
  for (const char* name : {"from", "to"}) {
    if (!range->Has(name)) range->Report(name, "is required: the first and the last value");
  }
  if (multiplies && range->Has("step")) {
    range->Report("step", "cannot be given together with times; keep one of them");
  }
  if (multiplies && from < 1) range->Report("from", "must be at least 1 where values multiply");
  if (range->Has("to") && to < from) range->Report("to", StrCat("must be at least from, ", from));
  range->Finish();
  std::vector<json> values;
  if (range->ProblemCount() > before) return values;
  for (std::int64_t value = from; value <= to; value = multiplies ? value * times : value + step) {
    if (values.size() == kValuesMax) {
      range->Report("to", StrCat("makes more than ", kValuesMax, " values"));
      return {};
    }
    values.emplace_back(value);
    if (multiplies && value > to / times) break;  // The product might not fit.
  }
  return values;
}

// The values of one parameter; empty when there is a problem.
std::vector<json> ReadValues(Fields* entries, const std::string& name) {
  const json& given = *entries->Find(name);
  if (given.is_object()) {
    auto range = entries->Object(name);
    return ReadRange(&*range);
  }
  const std::vector<json> values =
      given.is_array() ? given.get<std::vector<json>>() : std::vector<json>{given};
  if (values.empty() || values.size() > kValuesMax) {
    entries->Report(name, StrCat("must have from 1 to ", kValuesMax, " values"));
    return {};
  }
  std::set<json> seen;
  for (const json& value : values) {
    const bool is_text =
        value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
    if (!is_text && !value.is_number() && !value.is_boolean()) {
      entries->Report(name, StrCat("must be a list of numbers, texts or truths, or a range such as "
                                   "{from: 1, to: 8, times: 2}; it has ",
                                   job::DescribeValue(value)));
      return {};
    }
    if (!seen.insert(value).second) {
      entries->Report(name, StrCat("has ", job::DescribeValue(value), " twice"));
      return {};
    }
  }
  return values;
}

bool IsTakenName(std::string_view name) {
  return name == kWorld || name == kGpusPerServer || name == kServers ||
         FindReportField(name) != nullptr;
}

// Lists the values that a preset would try.
json SpaceOf(const Preset& preset) {
  json space = json::object();
  for (const PresetParameter& parameter : preset.parameters) {
    if (!parameter.values.is_null()) space[parameter.name] = parameter.values;
  }
  return space;
}

// `brought`: the space of a document that has none; null: it must have one.
void ReadSpace(Fields* fields, const json& brought, SearchSpec* spec) {
  const json* space = fields->Find("space");
  if (space == nullptr && !brought.is_null()) space = &brought;
  if (space == nullptr || !space->is_object() || space->empty()) {
    fields->Report("space", "is required: {NAME: [VALUE, ...]}, used in the job as ${NAME}");
    return;
  }
  Fields entries(*space, fields->pointer() + "/space", fields->problems());
  std::size_t combinations = 1;
  for (const auto& [name, unused] : space->items()) {
    if (!entries.Has(name)) {
      entries.Report(name, "must have a value");
    } else if (!IsExpressionName(name)) {
      entries.Report(
          name,
          "must be a name of letters, digits and _ that begins with a letter and is none "
          "of and, or, not, true and false");
    } else if (IsTakenName(name)) {
      entries.Report(name, "is a name that expressions have already: choose another");
    } else {
      spec->space.emplace_back(name, ReadValues(&entries, name));
      combinations *= std::max<std::size_t>(spec->space.back().second.size(), 1);
    }
    if (combinations > kCombinationsMax) {
      fields->Report("space", StrCat("has more than ", kCombinationsMax,
                                     " combinations: give fewer values, or search in two steps"));
      return;
    }
  }
}

// Reads the names that have a value besides the parameters: sizes of the model.
void ReadFacts(Fields* fields, SearchSpec* spec) {
  const json* model = fields->Find("model");
  if (model == nullptr) return;
  auto entries = fields->Object("model");
  if (!entries) return;
  for (const auto& [name, value] : model->items()) {
    entries->Ignore(name);
    const bool is_searched =
        std::ranges::find(spec->space, name, &Space::value_type::first) != spec->space.end();
    if (!IsExpressionName(name)) {
      entries->Report(name, "must be a name of letters, digits and _, not a digit first");
    } else if (IsTakenName(name)) {
      entries->Report(name, "is a name that expressions have already: choose another");
    } else if (is_searched) {
      entries->Report(name, "is a parameter of space: keep one of them");
    } else if (!value.is_number() && !value.is_string() && !value.is_boolean()) {
      entries->Report(name,
                      "must be a number, a text or a truth, not " + job::DescribeValue(value));
    } else {
      spec->facts.emplace_back(name, value);
    }
  }
}

// Values of a parameter for which the preset has no words would all run the same command.
void CheckAddedWords(Fields* fields, const SearchSpec& spec) {
  for (const AddedWords& added : spec.words) {
    std::vector<std::string> texts;
    for (const auto& [text, words] : added.by_value) texts.push_back(text);
    for (const auto& [name, values] : spec.space) {
      if (name != added.parameter) continue;
      for (const json& value : values) {
        if (added.by_value.contains(sweep::TextOf(value))) continue;
        fields->Report("space", StrCat(name, " has ", job::DescribeValue(value),
                                       ", for which the preset has no words; it has them for ",
                                       base::Join(texts, ", ")));
      }
    }
  }
}

// Reads one expression, whose names must be of `known`.
std::optional<Expression> ReadExpression(const json& given, const std::string& pointer,
                                         const Names& known, job::Problems* problems) {
  const auto fail = [&](std::string detail) {
    problems->push_back({pointer, std::move(detail)});
    return std::nullopt;
  };
  if (!given.is_string()) {
    return fail("must be an expression as text (quote it), not " + job::DescribeValue(given));
  }
  auto expression = Expression::Parse(given.get_ref<const std::string&>());
  if (!expression) return fail(expression.error().message);
  for (const std::string& name : expression->names()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string hint = job::DidYouMean(name, known);
    return fail(StrCat("'", name, "' is not known", hint.empty() ? "." : hint,
                       " Names: ", base::Join(known, ", ")));
  }
  return std::move(*expression);
}

std::vector<Expression> ReadExpressions(Fields* fields, std::string_view name, const Names& known) {
  const json* list = fields->Find(name);
  if (list == nullptr) return {};
  const std::string pointer = fields->pointer() + job::PointerTo(name);
  if (!list->is_array() || list->size() > kExpressionsMax) {
    fields->Report(name, StrCat("must be a list of at most ", kExpressionsMax,
                                " expressions, such as ['world % tp == 0']"));
    return {};
  }
  std::vector<Expression> read;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto expression =
        ReadExpression((*list)[i], StrCat(pointer, "/", i), known, fields->problems());
    if (expression) read.push_back(std::move(*expression));
  }
  return read;
}

void ReadObjective(Fields* fields, const Names& parameters, SearchSpec* spec) {
  Names report;
  for (const ReportField& field : ReportFields()) report.emplace_back(field.name);
  auto objective = fields->Object("objective");
  if (!objective) {
    if (!fields->Has("objective")) {
      fields->Report("objective", "is required, such as {maximize: tokensPerSecond}");
    }
    return;
  }
  const bool maximizes = objective->Has("maximize");
  if (maximizes == objective->Has("minimize")) {
    objective->Report("maximize", "or minimize is required, and only one of them");
  }
  spec->objective.maximize = maximizes;
  const char* direction = maximizes ? "maximize" : "minimize";
  if (objective->Has(direction)) spec->objective.field = objective->Choice(direction, report, "");
  Names known = report;
  known.insert(known.end(), parameters.begin(), parameters.end());
  spec->objective.subject_to = ReadExpressions(&*objective, "subjectTo", known);
  objective->Finish();
}

// The objectives of a Pareto front.
void ReadGoals(Fields* fields, SearchSpec* spec) {
  if (!fields->Has("objectives")) return;
  Names report;
  for (const ReportField& field : ReportFields()) report.emplace_back(field.name);
  const std::size_t before = fields->ProblemCount();
  for (Fields& goal : fields->ObjectList("objectives")) {
    const bool maximizes = goal.Has("maximize");
    if (maximizes == goal.Has("minimize")) {
      goal.Report("maximize", "or minimize is required, and only one of them");
    }
    const char* direction = maximizes ? "maximize" : "minimize";
    if (goal.Has(direction)) {
      spec->goals.push_back({maximizes, goal.Choice(direction, report, "")});
    }
    goal.Finish();
  }
  if (fields->ProblemCount() > before) return;
  std::set<std::string> seen;
  for (const Goal& goal : spec->goals) {
    if (!seen.insert(goal.field).second)
      fields->Report("objectives", "has " + goal.field + " twice");
  }
  if (spec->goals.size() < 2) {
    fields->Report("objectives",
                   "must have two or more, such as "
                   "[{maximize: tokensPerSecond}, {maximize: memoryHeadroom}]");
  }
}

void CheckPrices(Fields* fields, const SearchSpec& spec) {
  Names used = {spec.objective.field};
  for (const Goal& goal : spec.goals) used.push_back(goal.field);
  for (const Expression& condition : spec.objective.subject_to) {
    used.insert(used.end(), condition.names().begin(), condition.names().end());
  }
  for (const std::string& name : used) {
    if (!name.starts_with("costPer") || !spec.prices.empty()) continue;
    fields->Report("price", StrCat("is required for ", name, ": {GPU: price of an hour}"));
    return;
  }
}

void ReadBudget(Fields* fields, SearchSpec* spec) {
  auto budget = fields->Object("budget");
  if (!budget) return;
  spec->points_max = static_cast<std::size_t>(
      budget->Integer("points", {1, static_cast<std::int64_t>(kCombinationsMax)}, 0));
  spec->wall_seconds_max =
      static_cast<std::uint64_t>(budget->Integer("wallSeconds", {1, 1'000'000'000}, 0));
  spec->look_iterations = static_cast<std::size_t>(budget->Integer("look", {1, 100'000}, 0));
  spec->parallel = static_cast<std::size_t>(budget->Integer("parallel", {1, 64}, 1));
  budget->Finish();
}

// `preset`: null: there is none.
void ReadJob(Fields* fields, const Preset* preset, SearchSpec* spec) {
  const json* job = fields->Find("job");
  if (job == nullptr || !job->is_object()) {
    fields->Report("job", job == nullptr ? "is required: the spec of a SimulationJob"
                                         : "must be the spec of a SimulationJob, not " +
                                               job::DescribeValue(*job));
    return;
  }
  spec->job = *job;
  const std::string pointer = fields->pointer() + "/job";
  if (preset != nullptr) ApplyPreset(*preset, spec);
  Names used;
  for (const AddedWords& added : spec->words) used.push_back(added.parameter);
  CheckPlaceholders(spec->job, pointer, spec->space, used, fields->problems());
  Fields entries(*job, pointer, fields->problems());
  for (const char* name : {"suspend", "ttlSecondsAfterFinished", "replay", "outputs"}) {
    if (!entries.Has(name)) continue;
    entries.Report(name,
                   "cannot be given: a search runs its points itself, and keeps their figures");
  }
}

Names NamesOfConstraints(const SearchSpec& spec, Names known) {
  for (const std::string_view name : {kWorld, kGpusPerServer, kServers}) known.emplace_back(name);
  for (const auto& [name, value] : spec.facts) known.push_back(name);
  for (const auto& [name, other] : spec.aliases) known.push_back(name);
  return known;
}

SearchSpec ReadSpec(Fields* fields) {
  SearchSpec spec;
  std::optional<Preset> preset;
  if (fields->Has("preset")) spec.preset = fields->Choice("preset", PresetNames(), "");
  if (!spec.preset.empty()) preset = LoadPreset(spec.preset);
  ReadSpace(fields, preset ? SpaceOf(*preset) : json(), &spec);
  Names parameters;
  for (const auto& [name, values] : spec.space) parameters.push_back(name);
  ReadFacts(fields, &spec);
  ReadJob(fields, preset ? &*preset : nullptr, &spec);
  CheckAddedWords(fields, spec);
  std::vector<Expression> own =
      ReadExpressions(fields, "constraints", NamesOfConstraints(spec, parameters));
  spec.constraints.insert(spec.constraints.end(), own.begin(), own.end());
  ReadObjective(fields, parameters, &spec);
  ReadGoals(fields, &spec);
  spec.prices = sweep::ReadPrices(fields);
  CheckPrices(fields, spec);
  ReadBudget(fields, &spec);
  spec.may_replay = fields->Choice("replays", {"auto", "off"}, "auto") == "auto";
  if (fields->Has("proposer")) {
    fields->Report("proposer", "is not supported yet: 'eidolon search ask' answers a tuner");
  }
  fields->Finish();
  return spec;
}

}  // namespace

ParsedSearch ParseSearch(const json& document) {
  ParsedSearch search;
  if (!document.is_object()) {
    search.problems.push_back({"", "must be an object, not " + job::DescribeValue(document)});
    return search;
  }
  Fields fields(document, "", &search.problems);
  search.metadata = job::ReadMetadata(&fields, kSearchKind);
  if (auto inner = fields.Object("spec")) {
    search.spec = ReadSpec(&*inner);
  } else if (!fields.Has("spec")) {
    fields.Report("spec", "is required");
  }
  fields.Finish();
  return search;
}

}  // namespace eidolon::controller::search
