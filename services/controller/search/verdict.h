// Verdicts of a search's rows.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace eidolon::controller::search {

inline constexpr char kBest[] = "best";
inline constexpr char kAlike[] = "cannot be told apart";  // Its band and the best one's overlap.
inline constexpr char kSlower[] = "slower";               // Or "worse", of objectives besides time.
inline constexpr char kWorse[] = "worse";
inline constexpr char kDropped[] = "dropped";    // Its job was ended early, since it had lost.
inline constexpr char kExcluded[] = "excluded";  // A condition of subjectTo does not hold.
inline constexpr char kDoesNotFit[] = "does not fit";
inline constexpr char kFailed[] = "failed";

// Returns whether a user can choose the point of a judged row: it fits, and keeps the conditions.
inline bool IsChoosable(const nlohmann::json& row) {
  const auto verdict = row.find("verdict");
  if (verdict == row.end()) return false;
  for (const std::string_view choosable : {kBest, kAlike, kSlower, kWorse}) {
    if (*verdict == choosable) return true;
  }
  return false;
}

}  // namespace eidolon::controller::search
