// The time of an operation falls with length as a + b / length: a part for each row of queries or
// keys is shared by more operations. The line is fitted to relative errors, so short and long
// sequences weigh alike. What it leaves over is interpolated between the points and kept at its
// last value outside, so that the published points are met exactly and nothing is extrapolated but
// the line.
#include "services/timing/model/attention_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "services/base/check.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::model {

std::vector<PublishedAttention> PublishedAttentionRates() {
  std::vector<PublishedAttention> rows;
  for (const CsvRow& row : CsvRows(AttentionTableCsv(), 7)) {
    rows.push_back({.implementation = std::string(row[0]),
                    .head_size = static_cast<int>(CsvNumber(row[1])),
                    .causal = row[2] == "1",
                    .point = {CsvNumber(row[3]), CsvNumber(row[4]) * 1e12},
                    .gpu = std::string(row[6])});
  }
  return rows;
}

// Least squares on relative errors of 1 / rate = a + b / length.
AttentionCurve::AttentionCurve(std::vector<AttentionPoint> points) : points_(std::move(points)) {
  CHECK(points_.size() >= 2);
  std::sort(points_.begin(), points_.end(),
            [](const AttentionPoint& x, const AttentionPoint& y) { return x.length < y.length; });
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double ay = 0;
  double by = 0;
  for (const AttentionPoint& p : points_) {
    const double a = p.rate;
    const double b = p.rate / p.length;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a;
    by += b;
  }
  const double determinant = aa * bb - ab * ab;
  CHECK(determinant > 0);
  per_operation_ = (ay * bb - by * ab) / determinant;
  per_row_ = (by * aa - ay * ab) / determinant;
  if (per_row_ < 0 || per_operation_ <= 0) {
    // The rate does not grow with length: a constant.
    per_row_ = 0;
    per_operation_ = ay / aa;
  }
}

double AttentionCurve::Line(double length) const {
  return 1 / (per_operation_ + per_row_ / length);
}

double AttentionCurve::Rate(double length) const {
  const double at = std::max(length, 1.0);
  const auto rest = [this](const AttentionPoint& p) { return std::log(p.rate / Line(p.length)); };
  double left = rest(points_.back());
  if (at <= points_.front().length) {
    left = rest(points_.front());
  } else if (at < points_.back().length) {
    std::size_t i = 1;
    while (at > points_[i].length) ++i;
    const double share = std::log2(at / points_[i - 1].length) /
                         std::log2(points_[i].length / points_[i - 1].length);
    left = (1 - share) * rest(points_[i - 1]) + share * rest(points_[i]);
  }
  return Line(at) * std::exp(left);
}

}  // namespace eidolon::timing::model
