// Prints a stream of changes for `get --watch`: a line for each job that looks different than
// before.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "services/controller/job/label_selector.h"

namespace eidolon::cli {

struct WatchedJobsOptions {
  std::string name;  // Of the only job that counts; empty: all.
  controller::job::LabelSelector selector;
  std::string output = "table";  // Or "name", "json": a document a line.
};

// This class is not thread-safe.
class WatchedJobs {
 public:
  explicit WatchedJobs(WatchedJobsOptions options) : options_(std::move(options)) {}

  // Adds the data of one event (the API's JobsEvent): whole lines, or nothing. The table's header
  // comes with the first event. Any JSON is accepted.
  std::string Add(const nlohmann::json& event);

 private:
  WatchedJobsOptions options_;
  bool has_header_ = false;
  std::map<std::string, std::string> lines_;  // By "namespace/name".
};

}  // namespace eidolon::cli
