// Whether a job's iterations are even enough for their mean to stand for them, and what the odd
// ones did: a step that writes a checkpoint, or compiles, lasts many times as long as the others.
//
// Rule. An iteration is odd when its distance from the median is more than a tenth of the median
// and its modified z-score is above 3.5:
//     0.6745 x |length - median| / MAD > 3.5,   MAD = median of |length - median|
// (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993; 0.6745 makes MAD the standard
// deviation of a normal distribution). Median and MAD hold as long as less than half of the
// iterations are odd, while the mean and the standard deviation of few iterations follow a single
// one. Iterations are uneven when the odd ones move the mean by more than a tenth: less than that
// is how far predictions are wrong anyway, and what a loaded machine does to the host's measured
// share. Two iterations cannot show it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace eidolon::controller::job {

// Seconds of one iteration: its length, and where its ranks spent it, on average. Copies are part
// of compute where nothing hides them.
struct IterationParts {
  double length = 0;
  double compute = 0;
  double exposed_communication = 0;
  double idle = 0;
  double host = 0;
  double copies_to_host = 0;
  double copies_to_device = 0;

  bool operator==(const IterationParts&) const = default;
};

struct OddIteration {
  std::size_t position = 0;  // Among those that were looked at.
  double seconds = 0;
  IterationParts more;  // Than the even ones on average; negative: less. length: than the median.
};

struct Unevenness {
  double even_mean = 0;  // Seconds, of those that are not odd.
  std::vector<OddIteration> odd;
};

// Returns the median of values in any order. Requires: not empty.
double MedianOf(std::vector<double> values);
// Decides by the modified z-score. `distance`: from the median, at least 0.
bool IsFar(double distance, double mad);

// Nothing when the iterations are even.
std::optional<Unevenness> FindUnevenness(std::span<const IterationParts> iterations);

}  // namespace eidolon::controller::job
