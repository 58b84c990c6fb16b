// Lines of cells along an axis are interpolated in one pass each, so the work grows with the cells
// and not with their square. What an axis misses near a cell is a local mean, found by smoothing
// the misses and their number in the same way and dividing, so that cells without a miss of their
// own do not count as good ones. The three guesses are combined around their weighted median,
// because one axis may run across a step of the library's tiles and be far off. The caller's values
// are ratios to a roof, by logarithms, which change slowly.
#include "services/timing/model/gemm_gaps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "services/base/check.h"

namespace eidolon::timing::model {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// A miss counts up to here, so that single outliers do not blind an axis.
constexpr float kMissMax = 0.3f;
// Assumed miss of an axis where nothing near by shows it, and how little that counts elsewhere.
constexpr float kMissUnknown = 0.05f;
constexpr float kUnknownWeight = 1e-3f;
// Squared: rows repeat to about a hundredth.
constexpr double kRepeatSquare = 1e-4;
// Of what the axes miss, and of half the range of what they say: makes the stated error, with what
// rows repeat to, a quarter and more above the mean error of left-out rows.
constexpr double kMissShare = 0.2;
constexpr double kRangeShare = 0.6;

bool Known(const GemmRows& rows, std::size_t cell) { return rows.microseconds[cell] > 0; }

// A line of cells along an axis.
struct Line {
  std::size_t first = 0;
  std::size_t stride = 1;
  std::size_t count = 0;

  std::size_t At(std::size_t step) const { return first + step * stride; }
};

// Calls `visit` with each line along the axis.
template <typename Visit>
void ForEachLine(const GemmRows& rows, std::size_t axis, const Visit& visit) {
  Line line = {.stride = rows.Stride(axis), .count = rows.axes[axis].size()};
  for (; line.first < rows.cells(); ++line.first) {
    if (rows.Step(line.first, axis) == 0) visit(line);
  }
}

// Each cell from the next known ones on both sides of it along the axis, itself left out; the next
// known one where only one side has any.
std::vector<float> AlongAxis(const GemmRows& rows, const std::vector<double>& values,
                             std::size_t axis) {
  std::vector<double> logs;
  for (const double size : rows.axes[axis]) logs.push_back(std::log2(size));
  std::vector<float> found(rows.cells(), kNone);
  constexpr auto kNowhere = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> above(logs.size());
  ForEachLine(rows, axis, [&](const Line& line) {
    std::size_t next = kNowhere;
    for (std::size_t i = line.count; i-- > 0;) {
      above[i] = next;
      if (Known(rows, line.At(i))) next = i;
    }
    std::size_t below = kNowhere;
    for (std::size_t i = 0; i < line.count; ++i) {
      float& value = found[line.At(i)];
      if (below != kNowhere && above[i] != kNowhere) {
        const double low = values[line.At(below)];
        const double share = (logs[i] - logs[below]) / (logs[above[i]] - logs[below]);
        value = static_cast<float>(low + share * (values[line.At(above[i])] - low));
      } else if (below != kNowhere || above[i] != kNowhere) {
        value = static_cast<float>(values[line.At(below != kNowhere ? below : above[i])]);
      }
      if (Known(rows, line.At(i))) below = i;
    }
  });
  return found;
}

// Adds half of both neighbours along every axis, twice.
void Spread(const GemmRows& rows, std::vector<float>& cells) {
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      ForEachLine(rows, axis, [&](const Line& line) {
        float before = 0;
        for (std::size_t i = 0; i < line.count; ++i) {
          const float value = cells[line.At(i)];
          const float after = i + 1 < line.count ? cells[line.At(i + 1)] : 0;
          cells[line.At(i)] = value + (before + after) / 2;
          before = value;
        }
      });
    }
  }
}

// Returns what an axis misses of the known cells around each cell, in the mean.
std::vector<float> MissesNear(const GemmRows& rows, const std::vector<double>& values,
                              const std::vector<float>& along) {
  std::vector<float> misses(rows.cells());
  std::vector<float> weights(rows.cells());
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    if (!Known(rows, i) || std::isnan(along[i])) continue;
    misses[i] = std::min(std::abs(static_cast<float>(values[i]) - along[i]), kMissMax);
    weights[i] = 1;
  }
  Spread(rows, misses);
  Spread(rows, weights);
  for (std::size_t i = 0; i < rows.cells(); ++i) {
    misses[i] = (misses[i] + kUnknownWeight * kMissUnknown) / (weights[i] + kUnknownWeight);
  }
  return misses;
}

// Guess of one axis.
struct Guess {
  double value = 0;
  double miss = 0;

  // `off`: what it is known to be off by here.
  double Weight(double off) const { return 1 / (miss * miss + off * off + kRepeatSquare); }
};

// Half of the weights are at or below it. Orders the guesses.
double WeightedMedian(std::span<Guess> guesses) {
  std::ranges::sort(guesses, {}, &Guess::value);
  double all = 0;
  for (const Guess& guess : guesses) all += guess.Weight(0);
  double below = 0;
  for (const Guess& guess : guesses) {
    below += guess.Weight(0);
    if (2 * below >= all) return guess.value;
  }
  return guesses.back().value;
}

// The mean by weights, a guess far from the median counting less.
Gap Combined(std::span<Guess> guesses) {
  const double median = WeightedMedian(guesses);
  double sum = 0, missed = 0, weights = 0;
  for (const Guess& guess : guesses) {
    const double away = guess.value - median;
    const double weight = guess.Weight(away / 2);
    sum += weight * away;
    missed += weight * guess.miss;
    weights += weight;
  }
  const double range = guesses.back().value - guesses.front().value;
  return {.value = median + sum / weights,
          .error = kRangeShare * range / 2 + kMissShare * missed / weights,
          .reached = true};
}

}  // namespace

std::vector<Gap> FillGaps(const GemmRows& rows, const std::vector<double>& values) {
  CHECK(values.size() == rows.cells());
  std::array<std::vector<float>, 3> along;
  std::array<std::vector<float>, 3> misses;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    along[axis] = AlongAxis(rows, values, axis);
    misses[axis] = MissesNear(rows, values, along[axis]);
  }
  std::vector<Gap> gaps(rows.cells());
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    std::array<Guess, 3> guesses;
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (std::isnan(along[axis][i])) continue;
      guesses[count++] = {along[axis][i], misses[axis][i]};
    }
    if (count > 0) gaps[i] = Combined(std::span(guesses).first(count));
  }
  return gaps;
}

}  // namespace eidolon::timing::model
