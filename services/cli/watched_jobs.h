// What `get --watch` prints of a stream of changes: a line for each job that looks otherwise than
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

// Not thread safe.
class WatchedJobs {
 public:
  explicit WatchedJobs(WatchedJobsOptions options) : options_(std::move(options)) {}

  // Of the data of one event (the API's JobsEvent): whole lines, or nothing. The table's header
  // comes with the first event. Any JSON is accepted.
  std::string Add(const nlohmann::json& event);

 private:
  WatchedJobsOptions options_;
  bool has_header_ = false;
  std::map<std::string, std::string> lines_;  // By "namespace/name".
};

}  // namespace eidolon::cli
