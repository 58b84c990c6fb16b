// Finds the point of a search that certainly beats another one, by the bands of both.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "services/controller/search/spec.h"

namespace eidolon::controller::search {

// The best case of one point is worse than the worst case of another.
struct Loss {
  std::string to;         // Name of the other one.
  double best_case = 0;   // Of the objective's field.
  double worst_case = 0;  // The same, of the other one.
};

// Returns to which of `others` a row with a prediction loses: to the one with the best worst case.
// Where the search has several objectives, it loses only if the other one's worst case is as good
// in each of them, and better in one. Nothing: it may still be the best.
// Requires: all of `others` are those of points that can be chosen.
std::optional<Loss> LossOf(const SearchSpec& spec, const nlohmann::json& row,
                           std::span<const nlohmann::json* const> others);

// "at best 501 tokensPerSecond, where pp=2 tp=4 has 950 at worst".
std::string Describe(const Loss& loss, const Objective& objective);

// A job that was ended early, since its point had lost: its row says so, and has what was predicted
// until then.
void MarkPartial(std::size_t measured, nlohmann::json* row);
// Returns after how many measured iterations it was ended; 0: it was not.
std::size_t PartialOf(const nlohmann::json& row);

}  // namespace eidolon::controller::search
