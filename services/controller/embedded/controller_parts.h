// Parts of the embedded controller: its options, and the services that it uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/place/placement.h"
#include "services/controller/simulators/simulators.h"

namespace eidolon::controller::embedded {

struct RetentionOptions {
  std::size_t keep_jobs = 0;         // Finished ones; 0: any number.
  std::uint64_t keep_days = 0;       // Since a job's end; 0: for ever.
  std::uint64_t data_bytes_max = 0;  // Of the data folder; 0: any size.
};

struct ControllerOptions {
  std::string run_root;  // Where run directories are made.
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
  RetentionOptions retention;
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
