// A duration with where it comes from and how sure it is.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "services/base/sim_time.h"
#include "services/contract/estimate/source.h"
#include "services/timing/kernel/work_counts.h"

namespace eidolon::timing::model {

// No operation lasts longer, so that the clock of a job cannot overflow.
inline constexpr base::Duration kLongestOperation = base::Duration::Milliseconds(3'600'000);

// Any number of seconds as the duration of an operation: negative ones and NaN are 0.
inline base::Duration OperationTime(double seconds) {
  if (std::isnan(seconds)) return {};
  return base::Duration::FromSeconds(std::clamp(seconds, 0.0, kLongestOperation.Seconds()));
}

// A duty says how long work would take at the whole rate or bandwidth of its GPU.
struct Duty {
  double matrix_seconds = 0;
  double memory_seconds = 0;
};

// The draw is that at the burst clock.
struct Draw {
  double watts = 0;         // Above the GPU's floor.
  double memory_watts = 0;  // Of these, what memory chips draw, whatever the clock.
  double clock_share = 0;   // Of the duration, what goes with the clock.
};

struct Estimate {
  base::Duration duration;
  estimate::Source source = estimate::Source::kAssumed;
  double relative_error = 0.5;          // One standard deviation over the duration.
  std::string_view family = "unknown";  // Static text.
  kernel::WorkCounts counts;
  double memory_bytes = 0;  // To and from memory; 0 where that is not known.
  double memory_share = 0;  // Of the bandwidth that is attained, when it runs alone.
  Duty duty;
  Draw draw;
};

// Result of the models below before rounding: seconds of execution on the GPU.
struct Prediction {
  double seconds = 0;
  estimate::Source source = estimate::Source::kModelled;
  double relative_error = 0.3;
};

}  // namespace eidolon::timing::model
