#include "services/controller/embedded/retention_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace eidolon::controller::embedded {

void AddRetentionFlags(CLI::App* app, RetentionOptions* options) {
  options->keep_jobs = 1000;
  options->keep_days = 0;
  options->data_bytes_max = std::uint64_t{32} << 30;
  app->add_option("--keep-jobs", options->keep_jobs,
                  "finished jobs that are kept, with logs and outputs; the oldest go first; 0: all")
      ->capture_default_str();
  app->add_option("--keep-days", options->keep_days,
                  "days that a finished job is kept; 0: for ever")
      ->capture_default_str();
  app->add_option("--data-quota", options->data_bytes_max,
                  "size of the data folder, such as 500Mi: over it logs and outputs of the oldest "
                  "finished jobs are removed, then jobs are refused; 0: no limit")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("32Gi");
}

}  // namespace eidolon::controller::embedded
