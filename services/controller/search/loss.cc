// Errors of estimates repeat in every iteration, so that the band after one measured iteration is
// as wide as that after all of them: a loss by bands is one that more iterations do not undo, as
// long as the program's iterations are alike. Peaks of memory are known when a job is over.
#include "services/controller/search/loss.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;

constexpr char kPartial[] = "endedAfterIterations";

// The goals in which a point has to lose.
std::vector<Goal> GoalsOf(const SearchSpec& spec) {
  std::vector<Goal> goals = spec.goals;
  if (goals.empty()) goals.push_back({spec.objective.maximize, spec.objective.field});
  return goals;
}

bool Loses(const std::vector<Goal>& goals, const json& row, const json& other) {
  bool is_worse = false;
  for (const Goal& goal : goals) {
    // A job that runs does not say everything yet, such as its memory.
    if (!row.contains(goal.field) || !other.contains(goal.field)) return false;
    const double sign = goal.maximize ? 1 : -1;
    const double best = sign * BestCaseOf(row, goal);
    const double worst = sign * WorstCaseOf(other, goal);
    if (best > worst) return false;
    is_worse = is_worse || best < worst;
  }
  return is_worse;
}

}  // namespace

std::optional<Loss> LossOf(const SearchSpec& spec, const json& row,
                           std::span<const json* const> others) {
  const std::vector<Goal> goals = GoalsOf(spec);
  const Goal chosen = {spec.objective.maximize, spec.objective.field};
  const double sign = chosen.maximize ? 1 : -1;
  std::optional<Loss> loss;
  for (const json* other : others) {
    if (!Loses(goals, row, *other)) continue;
    const double worst = WorstCaseOf(*other, chosen);
    if (loss && sign * worst <= sign * loss->worst_case) continue;
    loss = {.to = shown::TextAt(*other, {"name"}),
            .best_case = BestCaseOf(row, chosen),
            .worst_case = worst};
  }
  return loss;
}

std::string Describe(const Loss& loss, const Objective& objective) {
  return base::StrCat("at best ", TextOfValue(loss.best_case), " ", objective.field, ", where ",
                      loss.to, " has ", TextOfValue(loss.worst_case), " at worst");
}

void MarkPartial(std::size_t measured, json* row) { (*row)[kPartial] = measured; }

std::size_t PartialOf(const json& row) {
  return static_cast<std::size_t>(shown::CountAt(row, {kPartial}));
}

}  // namespace eidolon::controller::search
