// One reason why an iteration is not shorter, as the diagnosis of a prediction states it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace eidolon::controller::job {

struct Finding {
  std::string rule;      // "host", "communication", ...: one of the rules of controller/diagnosis.
  std::string sentence;  // For people, with the figures and the suggestion.
  std::string suggestion;   // What to change.
  double cost_seconds = 0;  // Of an iteration. Findings are listed by it, largest first.
  // The iteration cannot become shorter than this by the suggestion alone: everything that it does
  // not touch stays. Nothing where the suggestion is not about time.
  std::optional<double> least_seconds;
  double change = 0;  // least_seconds relative to the iteration, -0.14; 0 without least_seconds.
  std::vector<std::pair<std::string, double>> evidence;  // By name with unit: "hostWorkSeconds".
};

}  // namespace eidolon::controller::job
