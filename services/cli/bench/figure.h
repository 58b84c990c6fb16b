// Formats the results of `eidolon bench`: figures with their goals, as a table and as a document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli::bench {

enum class Better { kLower, kHigher };

struct Goal {
  double value = 0;
  Better better = Better::kLower;
};

struct Figure {
  std::string key;  // "shim.launch": stable, for programs.
  std::string what;
  std::string unit;
  std::optional<Goal> goal;
  base::Result<double> value;  // In `unit`; an error says why it was not measured.
  std::string note;
};

enum class Verdict { kMet, kMissed, kNoGoal, kNotMeasured };

Verdict Judge(const Figure& figure);

// True when every figure with a goal was measured and meets it.
bool MeetsAllGoals(const std::vector<Figure>& figures);

// A header and a line per figure.
std::string FormatFigures(const std::vector<Figure>& figures);
nlohmann::json FiguresToJson(const std::vector<Figure>& figures);

// "83.4", "11.21 M", "261.3 k": four digits, thousands and millions by suffix.
std::string FormatValue(double value);

}  // namespace eidolon::cli::bench
