#include "services/timing/fit/accuracy.h"

#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "services/base/text.h"
#include "services/timing/fit/errors.h"
#include "services/timing/model/attention_curve.h"

namespace eidolon::timing::fit {
std::vector<Accuracy> AttentionLengths() {
  using Key = std::tuple<std::string, int, bool>;
  std::map<Key, std::vector<model::AttentionPoint>> curves;
  for (const model::PublishedAttention& row : model::PublishedAttentionRates()) {
    const std::string gpu = row.gpu.substr(0, row.gpu.find('-'));
    curves[{base::StrCat(row.implementation, ", ", gpu), row.head_size, row.causal}].push_back(
        row.point);
  }
  std::map<std::string, Errors> tests;
  for (const auto& [key, points] : curves) {
    for (std::size_t left_out = 0; left_out < points.size(); ++left_out) {
      std::vector<model::AttentionPoint> others = points;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(left_out));
      const double rate = model::AttentionCurve(others).Rate(points[left_out].length);
      tests[std::get<0>(key)].Add(points[left_out].rate, rate);
    }
  }
  std::vector<Accuracy> rows;
  for (const auto& [curve, test] : tests) {
    Accuracy row = {.what = base::StrCat("attention forward, ", curve),
                    .fitted = "the other lengths of the curve",
                    .tested = "each length in turn",
                    .target = 0.06};
    test.Fill(row);
    rows.push_back(row);
  }
  return rows;
}

std::string FormatAccuracies(const std::vector<Accuracy>& rows) {
  std::string text =
      "| what | fitted on | mean error | tested on | rows | mean error | 95th percentile | bias | "
      "target | |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Accuracy& row : rows) {
    std::string target = row.target > 0 ? Percent(row.target) : "-";
    if (row.target_p95 > 0) target += ", 95th " + Percent(row.target_p95);
    const std::string fit =
        row.fit_rows > 0 ? base::StrCat(Percent(row.fit_mean), " of ", row.fit_rows) : "-";
    text += base::StrCat("| ", row.what, " | ", row.fitted, " | ", fit, " | ", row.tested, " | ");
    text += base::StrCat(row.test_rows, " | ", Percent(row.mean), " | ", Percent(row.p95), " | ");
    text += base::StrCat(Percent(row.bias), " | ", target, " | ");
    text += row.target == 0 || row.test_rows == 0 ? "|\n"
                                                  : (row.holds() ? "holds |\n" : "**missed** |\n");
  }
  return text;
}

}  // namespace eidolon::timing::fit
