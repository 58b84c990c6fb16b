// One row of the table of errors: what was fitted on which rows, and how well it does on others.
#pragma once

#include <cstddef>
#include <string>

namespace eidolon::timing::fit {

struct Accuracy {
  std::string what;
  std::string fitted;  // Which rows the model knows; "none" when it is a formula.
  std::string tested;
  std::size_t fit_rows = 0;
  std::size_t test_rows = 0;
  double fit_mean = 0;  // Absolute relative errors, shares; 0 when nothing was fitted.
  double mean = 0;
  double p95 = 0;
  double bias = 0;        // Mean of the signed ones.
  double target = 0;      // Of the mean; 0: none is set.
  double target_p95 = 0;  // 0: none is set.

  bool holds() const {
    return (target == 0 || mean <= target) && (target_p95 == 0 || p95 <= target_p95);
  }
};

}  // namespace eidolon::timing::fit
