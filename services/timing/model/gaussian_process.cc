// A table has few enough shapes for a Cholesky factor, and own loops instead of a library's make
// results repeat: the order of additions is fixed. Symmetric matrices are kept as lower triangles
// by rows. The gradient is that of the log marginal likelihood by the logarithms of the scales
// (Rasmussen and Williams, equation 5.9), and errors of left-out points come without fitting again,
// from the inverse's diagonal (equation 5.12). The search for scales uses only the signs of slopes,
// with a step of its own for each scale that grows by 1.2 and halves when the slope turns (Rprop,
// Riedmiller and Braun 1993). A prior keeps scales that the data do not determine where they were
// thought to be.
#include "services/timing/model/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "services/base/check.h"

namespace eidolon::timing::model {
namespace {

std::size_t RowStart(std::size_t row) { return row * (row + 1) / 2; }

double Square(const GaussianScales& scales, const GaussianPoint& a, const GaussianPoint& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double step = (a[i] - b[i]) / scales.length[i];
    square += step * step;
  }
  return square;
}

// Value of the kernel at a distance in lengths, without the signal; and less its derivative by the
// distance, over the distance.
struct Matern {
  double value;
  double fall;
};

Matern MaternAt(const GaussianScales& scales, double distance) {
  if (scales.rough) {
    const double value = std::exp(-distance);
    return {value, distance > 0 ? value / distance : 0};
  }
  const double q = std::sqrt(3.0) * distance;
  return {(1 + q) * std::exp(-q), 3 * std::exp(-q)};
}

double Covariance(const GaussianScales& scales, const GaussianPoint& a, const GaussianPoint& b) {
  return scales.signal * scales.signal * MaternAt(scales, std::sqrt(Square(scales, a, b))).value;
}

double Noise(const GaussianScales& scales, const GaussianData& data, std::size_t at) {
  const double loose = data.looseness.empty() ? 0 : data.looseness[at] * scales.loose_noise;
  return scales.noise * scales.noise + loose * loose;
}

// Cholesky factor in place; false when the matrix is not positive definite.
bool Factor(std::vector<double>& cells, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    double* row = &cells[RowStart(i)];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &cells[RowStart(j)];
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

// The inverse of the matrix whose factor this is, lower triangle by rows.
std::vector<double> Inverse(const std::vector<double>& factor, std::size_t size) {
  std::vector<double> half(factor.size());  // Inverse of the factor.
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = &factor[RowStart(i)];
    double* out = &half[RowStart(i)];
    out[i] = 1;
    for (std::size_t k = 0; k < i; ++k) {
      const double* above = &half[RowStart(k)];
      for (std::size_t j = 0; j <= k; ++j) out[j] -= row[k] * above[j];
    }
    for (std::size_t j = 0; j <= i; ++j) out[j] /= row[i];
  }
  std::vector<double> whole(factor.size());
  for (std::size_t k = 0; k < size; ++k) {
    const double* row = &half[RowStart(k)];
    for (std::size_t i = 0; i <= k; ++i) {
      double* out = &whole[RowStart(i)];
      for (std::size_t j = 0; j <= i; ++j) out[j] += row[i] * row[j];
    }
  }
  return whole;
}

}  // namespace

std::optional<GaussianProcess> GaussianProcess::Fit(GaussianData data,
                                                    const GaussianScales& scales) {
  const std::size_t size = data.points.size();
  CHECK(size > 0 && data.values.size() == size);
  CHECK(data.looseness.empty() || data.looseness.size() == size);
  std::vector<double> factor(RowStart(size));
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(data.points[i].size() == scales.length.size());
    double* row = &factor[RowStart(i)];
    for (std::size_t j = 0; j < i; ++j) row[j] = Covariance(scales, data.points[i], data.points[j]);
    row[i] = scales.signal * scales.signal + Noise(scales, data, i);
  }
  if (!Factor(factor, size)) return std::nullopt;
  GaussianProcess process;
  for (const double value : data.values) process.mean_ += value / static_cast<double>(size);
  std::vector<double> solution(size);
  double likelihood = -0.5 * static_cast<double>(size) * std::log(2 * std::numbers::pi);
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = &factor[RowStart(i)];
    double sum = data.values[i] - process.mean_;
    for (std::size_t k = 0; k < i; ++k) sum -= row[k] * solution[k];
    solution[i] = sum / row[i];
    likelihood -= 0.5 * solution[i] * solution[i] + std::log(row[i]);
  }
  for (std::size_t i = size; i-- > 0;) {
    const double* row = &factor[RowStart(i)];
    solution[i] /= row[i];
    for (std::size_t k = 0; k < i; ++k) solution[k] -= row[k] * solution[i];
  }
  process.scales_ = scales;
  process.data_ = std::move(data);
  process.factor_ = std::move(factor);
  process.weights_ = std::move(solution);
  process.log_likelihood_ = likelihood;
  return process;
}

double GaussianProcess::Predict(const GaussianPoint& point) const {
  double value = mean_;
  for (std::size_t i = 0; i < data_.points.size(); ++i) {
    value += weights_[i] * Covariance(scales_, point, data_.points[i]);
  }
  return value;
}

// Half the trace of (weights weights' - inverse) times each derivative of the covariance.
void GaussianProcess::Differentiate() {
  const std::size_t size = data_.points.size();
  const std::size_t lengths = scales_.length.size();
  const std::vector<double> inverse = Inverse(factor_, size);
  const double power = scales_.signal * scales_.signal;
  gradient_.assign(lengths + 3, 0);
  left_out_.assign(size, 0);
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = &inverse[RowStart(i)];
    for (std::size_t j = 0; j < i; ++j) {
      const double pull = weights_[i] * weights_[j] - row[j];
      const Matern kernel =
          MaternAt(scales_, std::sqrt(Square(scales_, data_.points[i], data_.points[j])));
      for (std::size_t axis = 0; axis < lengths; ++axis) {
        const double step = (data_.points[i][axis] - data_.points[j][axis]) / scales_.length[axis];
        gradient_[axis] += pull * power * kernel.fall * step * step;
      }
      gradient_[lengths] += pull * 2 * power * kernel.value;
    }
    const double own = weights_[i] * weights_[i] - row[i];
    const double noise = scales_.noise * scales_.noise;
    gradient_[lengths] += own * power;
    gradient_[lengths + 1] += own * noise;
    gradient_[lengths + 2] += own * (Noise(scales_, data_, i) - noise);
    left_out_[i] = -weights_[i] / row[i];
  }
}

namespace {

struct Limits {
  double low;
  double high;
};
constexpr Limits kLength = {0.3, 200};
constexpr Limits kSignal = {0.01, 3};
constexpr Limits kNoise = {0.005, 0.5};
constexpr Limits kLooseNoise = {0.001, 0.5};

// One of the scales: where it is, what was thought of it, how far it moves and where it pointed
// last.
struct Moving {
  double* value;
  double width;
  Limits limits;
  double middle = *value;
  double step = 0.3;  // Of the logarithm.
  double last = 0;

  // Returns the distance in widths from the middle.
  double Away() const { return std::log(*value / middle) / width; }

  void Move(double slope) {
    constexpr double kFaster = 1.2;
    constexpr double kSlower = 0.5;
    constexpr double kStepMax = 1;
    slope -= Away() / width;
    if (slope * last > 0) step = std::min(step * kFaster, kStepMax);
    if (slope * last < 0) {
      step *= kSlower;
      slope = 0;
    }
    last = slope;
    if (slope == 0) return;
    *value = std::clamp(*value * std::exp(slope > 0 ? step : -step), limits.low, limits.high);
  }
};

}  // namespace

GaussianScales FitScales(const GaussianData& data, const GaussianPrior& prior, int steps) {
  constexpr double kStill = 2e-3;  // Scales are written with three digits.
  GaussianScales now = prior.middle;
  std::vector<Moving> all;
  for (std::size_t i = 0; i < now.length.size(); ++i) {
    all.push_back({&now.length[i], prior.width.length[i], kLength});
  }
  all.push_back({&now.signal, prior.width.signal, kSignal});
  all.push_back({&now.noise, prior.width.noise, kNoise});
  if (now.loose_noise > 0) {
    all.push_back({&now.loose_noise, prior.width.loose_noise, kLooseNoise});
  }
  GaussianScales best = now;
  double best_likelihood = -1e300;
  for (int step = 0; step < steps; ++step) {
    auto process = GaussianProcess::Fit(data, now);
    if (!process) {  // Too little noise for so long a length: back, and no further this way.
      now = best;
      now.noise = std::min(now.noise * 1.5, kNoise.high);
      for (Moving& moving : all) moving.step *= 0.5;
      continue;
    }
    double likelihood = process->log_likelihood();
    for (const Moving& moving : all) likelihood -= 0.5 * moving.Away() * moving.Away();
    if (likelihood > best_likelihood) {
      best_likelihood = likelihood;
      best = now;
    }
    process->Differentiate();
    double widest = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].Move(process->gradient()[i]);
      widest = std::max(widest, all[i].step);
    }
    if (widest < kStill) break;
  }
  return best;
}

}  // namespace eidolon::timing::model
