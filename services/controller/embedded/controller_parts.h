// What the embedded controller is given: its options, and the services that it uses.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/place/placement.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::embedded {

struct ControllerOptions {
  std::string run_root;  // Where run directories are made.
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
  std::vector<std::string> temporary_folders;  // Go with this program, also when it is killed.
};

// Must outlive the controller.
struct ControllerParts {
  const base::RealClock& clock;
  place::Placement& placement;
  simulators::Simulators& simulators;
  metrics::Metrics& metrics;
  std::function<std::string()> metrics_text;
};

}  // namespace eidolon::controller::embedded
