// Relative errors of a model, and what a table says about them. Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "services/timing/fit/accuracy_row.h"

namespace eidolon::timing::fit {

// 0.812 as "81.2 %".
std::string Percent(double share);

// Signed relative errors: predicted over measured, less one.
class Errors {
 public:
  void Add(double predicted, double measured) { errors_.push_back(predicted / measured - 1); }
  std::size_t size() const { return errors_.size(); }
  double Mean() const;
  double Bias() const;
  double Median() const;
  double Percentile95() const;
  // Writes the test columns.
  void Fill(Accuracy& row) const;

 private:
  // Absolute, at that share of the sorted ones.
  double At(double share) const;

  std::vector<double> errors_;
};

}  // namespace eidolon::timing::fit
