// Gaussian process regression with a Matern 5/2 kernel: how the published matrix-product tables are
// smoothed and filled. Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
// algorithm 2.1. Deterministic: same input, same bits on one platform.
#pragma once

#include <optional>
#include <vector>

namespace eidolon::timing::model {

// Of a kernel signal^2 x Matern(distance / length) + noise^2 on the diagonal.
struct GaussianScales {
  std::vector<double> length;  // One for each coordinate, in its units.
  double signal = 0;
  double noise = 0;
};

// Immutable after Fit.
class GaussianProcess {
 public:
  using Point = std::vector<double>;

  // Nothing when the covariance cannot be factored. Requires: as many values as points, at least
  // one; points of length.size() coordinates.
  static std::optional<GaussianProcess> Fit(std::vector<Point> points,
                                            const std::vector<double>& values,
                                            const GaussianScales& scales);

  double Predict(const Point& point) const;
  // Of the values, given the scales; what the choice of scales makes largest.
  double log_likelihood() const { return log_likelihood_; }

 private:
  GaussianProcess() = default;

  GaussianScales scales_;
  std::vector<Point> points_;
  std::vector<double> weights_;
  double mean_ = 0;
  double log_likelihood_ = 0;
};

// The scales that make the values most likely, by a seeded random descent from `start`; noise stays
// above 0.005 and lengths within 0.3 and 200, where the tables tell nothing more.
GaussianScales FitScales(const std::vector<GaussianProcess::Point>& points,
                         const std::vector<double>& values, GaussianScales start, int steps);

}  // namespace eidolon::timing::model
