#include "services/timing/model/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "services/base/check.h"
#include "services/base/random.h"

namespace eidolon::timing::model {
namespace {

// Lower triangular, by rows.
class Triangle {
 public:
  explicit Triangle(std::size_t size) : cells_(size * (size + 1) / 2) {}
  double* Row(std::size_t row) { return cells_.data() + row * (row + 1) / 2; }
  const double* Row(std::size_t row) const { return cells_.data() + row * (row + 1) / 2; }

 private:
  std::vector<double> cells_;
};

double Covariance(const GaussianScales& scales, const GaussianProcess::Point& a,
                  const GaussianProcess::Point& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double step = (a[i] - b[i]) / scales.length[i];
    square += step * step;
  }
  const double q = std::sqrt(5 * square);
  return scales.signal * scales.signal * (1 + q + q * q / 3) * std::exp(-q);
}

// Cholesky factor in place; false when the matrix is not positive definite.
bool Factor(Triangle& matrix, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    double* row = matrix.Row(i);
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = matrix.Row(j);
      double sum = row[j];
      for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      if (j < i) {
        row[j] = sum / other[j];
      } else if (sum <= 0 || !std::isfinite(sum)) {
        return false;
      } else {
        row[i] = std::sqrt(sum);
      }
    }
  }
  return true;
}

double Uniform(base::Random& random) {
  return static_cast<double>(random.Below(1u << 30)) / (1u << 30);
}

}  // namespace

std::optional<GaussianProcess> GaussianProcess::Fit(std::vector<Point> points,
                                                    const std::vector<double>& values,
                                                    const GaussianScales& scales) {
  const std::size_t size = points.size();
  CHECK(size > 0 && values.size() == size);
  Triangle factor(size);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(points[i].size() == scales.length.size());
    double* row = factor.Row(i);
    for (std::size_t j = 0; j < i; ++j) row[j] = Covariance(scales, points[i], points[j]);
    row[i] = scales.signal * scales.signal + scales.noise * scales.noise;
  }
  if (!Factor(factor, size)) return std::nullopt;
  GaussianProcess process;
  for (const double value : values) process.mean_ += value / static_cast<double>(size);
  std::vector<double> solution(size);
  double likelihood = -0.5 * static_cast<double>(size) * std::log(2 * std::numbers::pi);
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = factor.Row(i);
    double sum = values[i] - process.mean_;
    for (std::size_t k = 0; k < i; ++k) sum -= row[k] * solution[k];
    solution[i] = sum / row[i];
    likelihood -= 0.5 * solution[i] * solution[i] + std::log(row[i]);
  }
  for (std::size_t i = size; i-- > 0;) {
    solution[i] /= factor.Row(i)[i];
    const double* row = factor.Row(i);
    for (std::size_t k = 0; k < i; ++k) solution[k] -= row[k] * solution[i];
  }
  process.scales_ = scales;
  process.points_ = std::move(points);
  process.weights_ = std::move(solution);
  process.log_likelihood_ = likelihood;
  return process;
}

double GaussianProcess::Predict(const Point& point) const {
  double value = mean_;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    value += weights_[i] * Covariance(scales_, point, points_[i]);
  }
  return value;
}

GaussianScales FitScales(const std::vector<GaussianProcess::Point>& points,
                         const std::vector<double>& values, GaussianScales start, int steps) {
  base::Random random(20261121);
  const auto likelihood = [&](const GaussianScales& scales) {
    const auto process = GaussianProcess::Fit(points, values, scales);
    return process ? process->log_likelihood() : -1e300;
  };
  GaussianScales best = std::move(start);
  double best_likelihood = likelihood(best);
  double width = 0.8;
  for (int step = 0; step < steps; ++step) {
    GaussianScales next = best;
    const auto move = [&](double value, double low, double high) {
      if (random.Below(2) == 0) return value;
      return std::clamp(value * std::exp(width * (2 * Uniform(random) - 1)), low, high);
    };
    for (double& length : next.length) length = move(length, 0.3, 200);
    next.signal = move(next.signal, 0.01, 3);
    next.noise = move(next.noise, 0.005, 0.5);
    const double found = likelihood(next);
    if (found > best_likelihood) {
      best = std::move(next);
      best_likelihood = found;
    }
    if (step % (steps / 4 + 1) == steps / 4) width *= 0.6;
  }
  return best;
}

}  // namespace eidolon::timing::model
