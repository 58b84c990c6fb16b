#include "services/timing/fit/errors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace eidolon::timing::fit {

double Errors::Mean() const {
  double sum = 0;
  for (const double e : errors_) sum += std::abs(e);
  return errors_.empty() ? 0 : sum / static_cast<double>(errors_.size());
}

double Errors::Bias() const {
  double sum = 0;
  for (const double e : errors_) sum += e;
  return errors_.empty() ? 0 : sum / static_cast<double>(errors_.size());
}

double Errors::At(double share) const {
  if (errors_.empty()) return 0;
  std::vector<double> sorted;
  for (const double e : errors_) sorted.push_back(std::abs(e));
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double Errors::Median() const { return At(0.5); }

double Errors::Percentile95() const { return At(0.95); }

void Errors::Fill(Accuracy& row) const {
  row.test_rows = size();
  row.mean = Mean();
  row.p95 = Percentile95();
  row.bias = Bias();
}

std::string Percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", share * 100);
  return text;
}

}  // namespace eidolon::timing::fit
