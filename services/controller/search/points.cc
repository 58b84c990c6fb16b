// Constraints are tried in their order, and a combination counts for the first one that cuts it. A
// combination whose filled job is refused has no world and no servers, so constraints that name
// them say nothing about it; it stays as a refused point, unless a constraint over parameters alone
// cuts it. Everything that can be wrong with the whole grid is found here, before anything runs.
#include "services/controller/search/points.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text.h"
#include "services/controller/job/job.h"
#include "services/controller/job/resolve.h"

namespace eidolon::controller::search {
namespace {

using base::StrCat;
using nlohmann::json;

Value ValueOf(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  return value.get<std::string>();
}

// Adds what the job resolves to. Problems of the job's own stay with the point.
void ResolveSizes(Point* point, Bindings* bindings) {
  const job::ParsedJob parsed = job::ParseJob(DocumentOf(*point, "point"), job::Mode::kEmbedded);
  point->problems = parsed.problems;
  if (!point->problems.empty()) return;
  if (!parsed.spec.cluster) {
    point->problems.push_back(
        {"/spec/clusterRef",
         "cannot be given: no server has stored clusters here; describe it in "
         "place as cluster"});
    return;
  }
  const job::ResolvedJob resolved = job::Resolve(
      parsed.spec, nullptr, [] { return std::vector<std::string>(); }, &point->problems);
  if (!point->problems.empty()) return;
  (*bindings)[std::string(kWorld)] = std::int64_t{resolved.ranks()};
  (*bindings)[std::string(kServers)] = std::int64_t{resolved.servers};
  (*bindings)[std::string(kGpusPerServer)] = std::int64_t{resolved.cluster.gpus_per_server};
  const json server = {{"gpu", resolved.cluster.gpu},
                       {"gpusPerServer", resolved.cluster.gpus_per_server}};
  point->target = {{"servers", resolved.servers}, {"cluster", {{"server", server}}}};
}

void BindFacts(const SearchSpec& spec, Bindings* bindings) {
  for (const auto& [name, value] : spec.facts) (*bindings)[name] = ValueOf(value);
  // An alias may be that of another one.
  for (std::size_t pass = 0; pass < spec.aliases.size(); ++pass) {
    for (const auto& [name, other] : spec.aliases) {
      const auto found = bindings->find(other);
      if (found != bindings->end()) (*bindings)[name] = found->second;
    }
  }
}

void AddWords(const SearchSpec& spec, const sweep::SweepPoint& values, json* job) {
  if (!job->contains("command") || !(*job)["command"].is_array()) return;
  for (const AddedWords& added : spec.words) {
    for (const auto& [name, value] : values) {
      if (name != added.parameter) continue;
      const auto words = added.by_value.find(sweep::TextOf(value));
      if (words == added.by_value.end()) continue;
      for (const std::string& word : words->second) (*job)["command"].push_back(word);
    }
  }
}

// Returns which constraint cuts the point, or a problem of one; nothing: it remains.
std::optional<std::size_t> CutOf(const SearchSpec& spec, const Bindings& bindings,
                                 const std::string& name, job::Problems* problems) {
  for (std::size_t i = 0; i < spec.constraints.size(); ++i) {
    const Expression& constraint = spec.constraints[i];
    const bool is_bound = std::ranges::all_of(
        constraint.names(), [&](const std::string& used) { return bindings.contains(used); });
    if (!is_bound) continue;
    const auto holds = constraint.Holds(bindings);
    if (!holds) {
      const std::size_t brought = spec.reasons.size();
      problems->push_back(
          {i < brought ? "/spec/preset" : StrCat("/spec/constraints/", i - brought),
           StrCat("'", constraint.text(), "' for ", name, ": ", holds.error().message)});
      return std::nullopt;
    }
    if (!*holds) return i;
  }
  return std::nullopt;
}

// "/spec/cluster/servers" as "/spec/job/cluster/servers".
std::string InSearch(const std::string& pointer) {
  constexpr std::string_view kSpec = "/spec";
  return pointer.starts_with(kSpec) ? "/spec/job" + pointer.substr(kSpec.size()) : "/spec/job";
}

// A problem that all points have is a problem of the search.
void CheckPoints(const Grid& grid, job::Problems* problems) {
  if (grid.points.empty()) {
    std::vector<std::string> reasons;
    for (const Cut& cut : grid.cuts) {
      if (cut.points > 0) reasons.push_back(StrCat(cut.points, " by '", cut.constraint, "'"));
    }
    problems->push_back({"/spec/constraints", StrCat("cut all ", grid.combinations,
                                                     " combinations: ", base::Join(reasons, ", "),
                                                     "; relax one of them")});
    return;
  }
  const bool one_is_a_job =
      std::ranges::any_of(grid.points, [](const Point& point) { return point.problems.empty(); });
  if (one_is_a_job) return;
  for (const job::Problem& problem : grid.points.front().problems) {
    problems->push_back({InSearch(problem.pointer), problem.detail});
  }
}

}  // namespace

json DocumentOf(const Point& point, const std::string& name) {
  return {{"apiVersion", job::kApiVersion},
          {"kind", job::kJobKind},
          {"metadata", {{"name", name}}},
          {"spec", point.job}};
}

Bindings BindingsOf(const sweep::SweepPoint& values) {
  Bindings bindings;
  for (const auto& [name, value] : values) bindings[name] = ValueOf(value);
  return bindings;
}

MadePoint MakePoint(const SearchSpec& spec, sweep::SweepPoint values, job::Problems* problems) {
  MadePoint made;
  Point& point = made.point;
  point.values = std::move(values);
  point.name = sweep::NameOf(point.values);
  point.job = FillJob(spec.job, point.values);
  AddWords(spec, point.values, &point.job);
  // A few ranks run, whatever memory there is, so that one machine's answer is another's.
  if (!point.job.contains("folding")) point.job["folding"] = {{"mode", "required"}};
  Bindings bindings = BindingsOf(point.values);
  BindFacts(spec, &bindings);
  ResolveSizes(&point, &bindings);
  made.cut = CutOf(spec, bindings, point.name, problems);
  return made;
}

Grid MakeGrid(const SearchSpec& spec, job::Problems* problems) {
  sweep::SweepSpec all;
  all.matrix = spec.space;
  Grid grid;
  for (std::size_t i = 0; i < spec.constraints.size(); ++i) {
    grid.cuts.push_back({.constraint = spec.constraints[i].text(),
                         .points = 0,
                         .reason = i < spec.reasons.size() ? spec.reasons[i] : ""});
  }
  for (sweep::SweepPoint& values : sweep::PointsOf(all)) {
    ++grid.combinations;
    const std::size_t before = problems->size();
    MadePoint made = MakePoint(spec, std::move(values), problems);
    if (problems->size() > before) return grid;  // The others are likely to have the same one.
    if (made.cut) {
      ++grid.cuts[*made.cut].points;
    } else {
      grid.points.push_back(std::move(made.point));
    }
  }
  CheckPoints(grid, problems);
  return grid;
}

}  // namespace eidolon::controller::search
