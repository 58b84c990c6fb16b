#include "services/cli/watched_jobs.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "services/cli/report.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {

using controller::shown::At;
using controller::shown::TextAt;
using nlohmann::json;

namespace {

std::string KeyOf(const json& job) {
  return TextAt(job, {"metadata", "namespace"}) + "/" + TextAt(job, {"metadata", "name"});
}

std::string WithoutHeader(const std::string& table) { return table.substr(table.find('\n') + 1); }

}  // namespace

std::string WatchedJobs::Add(const json& event) {
  std::vector<json> shown;
  for (const json& job : At(event, {"changed"})) {
    if (!options_.name.empty() && TextAt(job, {"metadata", "name"}) != options_.name) continue;
    if (!options_.selector.Matches(job)) continue;
    std::string line = WithoutHeader(FormatTable({job}));
    if (std::exchange(lines_[KeyOf(job)], line) != line) shown.push_back(job);
  }
  std::string text;
  if (options_.output == "json" || options_.output == "name") {
    for (const json& job : shown) {
      text += (options_.output == "json" ? job.dump() : TextAt(job, {"metadata", "name"})) + "\n";
    }
  } else {
    text = FormatTable(shown);
    if (std::exchange(has_header_, true)) text = WithoutHeader(text);
  }
  for (const json& gone : At(event, {"gone"})) {
    const std::string key = gone.is_string() ? gone.get<std::string>() : "";
    if (lines_.erase(key) == 0 || options_.output == "json") continue;
    text += options_.output == "name" ? "" : key + " deleted\n";
  }
  return text;
}

}  // namespace eidolon::cli
