// A duration with where it comes from and how sure it is.
#pragma once

#include <string_view>

#include "services/base/sim_time.h"
#include "services/contract/estimate/source.h"
#include "services/timing/kernel/work_counts.h"

namespace eidolon::timing::model {

struct Estimate {
  base::Duration duration;
  estimate::Source source = estimate::Source::kAssumed;
  double relative_error = 0.5;          // One standard deviation over the duration.
  std::string_view family = "unknown";  // Static text.
  kernel::WorkCounts counts;
};

// What the models below compute before rounding: seconds of execution on the GPU.
struct Prediction {
  double seconds = 0;
  estimate::Source source = estimate::Source::kModelled;
  double relative_error = 0.3;
};

}  // namespace eidolon::timing::model
