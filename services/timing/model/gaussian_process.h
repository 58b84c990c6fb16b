// Gaussian process regression with a Matern kernel: how the published GEMM tables are
// smoothed and filled. Rasmussen and Williams, Gaussian Processes for Machine Learning (2006),
// algorithm 2.1. Deterministic: same input, same bits on one platform.
#pragma once

#include <optional>
#include <vector>

namespace eidolon::timing::model {

// Scales of a kernel signal^2 x Matern(distance / length), and noise on the diagonal.
struct GaussianScales {
  bool rough = false;          // Matern 1/2, whose functions have no slope; else 3/2.
  std::vector<double> length;  // One for each coordinate, in its units.
  double signal = 0;
  double noise = 0;        // Of every value.
  double loose_noise = 0;  // Besides, times a value's looseness.
};

using GaussianPoint = std::vector<double>;

// Known values of a function.
struct GaussianData {
  std::vector<GaussianPoint> points;
  std::vector<double> values;
  std::vector<double> looseness;  // 0 to 1, one for each value; empty: none is loose.
};

// Immutable after Fit.
class GaussianProcess {
 public:
  // Nothing when the covariance cannot be factored. Requires: as many values as points, at least
  // one; points of length.size() coordinates.
  static std::optional<GaussianProcess> Fit(GaussianData data, const GaussianScales& scales);

  double Predict(const GaussianPoint& point) const;
  // Returns the likelihood of the values, given the scales; what the choice of scales makes
  // largest.
  double log_likelihood() const { return log_likelihood_; }
  // Derivatives of the likelihood by the logarithms of lengths, signal, noise and loose noise.
  const std::vector<double>& gradient() const { return gradient_; }
  // Each value foretold by the others (algorithm of section 5.4.2), less itself.
  const std::vector<double>& left_out() const { return left_out_; }

  // Fills gradient and left_out, which cost several times the fit.
  void Differentiate();

 private:
  GaussianProcess() = default;

  GaussianScales scales_;
  GaussianData data_;
  std::vector<double> factor_;  // Lower triangle by rows.
  std::vector<double> weights_;
  double mean_ = 0;
  double log_likelihood_ = 0;
  std::vector<double> gradient_;
  std::vector<double> left_out_;
};

// What is thought of the scales before the values are seen: their logarithms are normal about those
// of `middle`, with these deviations. A loose noise of 0 stays 0.
struct GaussianPrior {
  GaussianScales middle;
  GaussianScales width;
};

// The likeliest scales given the values and the prior, by `steps` of Rprop from its middle at most
// (Blum and Riedmiller, ESANN 2013); noise stays above 0.005 and lengths within 0.3 and 200, where
// the tables hold no more information.
GaussianScales FitScales(const GaussianData& data, const GaussianPrior& prior, int steps);

}  // namespace eidolon::timing::model
