#include "services/controller/job/recorded_job.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace eidolon::controller::job {

using nlohmann::json;

json RecordedJob(json document, const json& cluster) {
  json& spec = document["spec"];
  json kept = json::array();
  for (const json& variable : spec.value("env", json::array())) {
    if (variable.value("name", "").starts_with("NCCL_")) kept.push_back(variable);
  }
  spec["env"] = std::move(kept);
  if (!spec.contains("variation"))
    spec["variation"] = "published";  // Says so in later versions, too.
  if (!cluster.is_null()) {
    spec["cluster"] = cluster;
    spec.erase("clusterRef");
  }
  return document;
}

}  // namespace eidolon::controller::job
