// A list may have thousands of jobs, and the prediction of one job may list 10,000 iterations. A
// row picks fields by name and cuts each of them, so its size has a bound that user input cannot
// move. Names stay those of the whole document, which lets one reader handle both. Objects of
// another version may have any shape, so nothing here assumes a type without a look.
#include "services/controller/job/summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace eidolon::controller::job {
namespace {

using nlohmann::json;
using Keys = std::vector<const char*>;

constexpr std::size_t kTextMax = 256;  // Bytes.
constexpr std::size_t kListMax = 16;   // Entries of lists and objects.

// Texts cut between characters of UTF-8, lists and objects at their beginning.
json Cut(const json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    std::size_t end = std::min(text.size(), kTextMax);
    while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
      --end;
    }
    return end < text.size() ? text.substr(0, end) + "..." : text;
  }
  if (value.is_array()) {
    json list = json::array();
    for (std::size_t i = 0; i < value.size() && i < kListMax; ++i) list.push_back(Cut(value[i]));
    return list;
  }
  if (!value.is_object()) return value;
  json object = json::object();
  for (const auto& [key, part] : value.items()) {
    if (object.size() == kListMax) break;
    if (key.size() <= kTextMax) object[key] = Cut(part);
  }
  return object;
}

const json& Member(const json& tree, const char* key) {
  static const json kNone = json::object();
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found == tree.end() ? kNone : *found;
}

json Pick(const json& tree, const Keys& keys) {
  json picked = json::object();
  for (const char* key : keys) {
    if (tree.is_object() && tree.contains(key)) picked[key] = Cut(tree[key]);
  }
  return picked;
}

// The last one that is true; of a job that has not started, what it waits for.
json StandingCondition(const json& status) {
  json last = json::array();
  for (const json& condition : Member(status, "conditions")) {
    const bool waits = condition.is_object() && condition.value("type", json()) == "Scheduled" &&
                       condition.value("message", json("")) != "";
    if (waits && Member(status, "phase") == "Pending") return json::array({Cut(condition)});
    if (condition.is_object() && condition.value("status", json()) == "True") {
      last = json::array({Cut(condition)});
    }
  }
  return last;
}

json TargetOf(const json& target) {
  const json& cluster = Member(target, "cluster");
  json picked = Pick(target, {"servers", "ranks"});
  picked["cluster"] = {{"server", Pick(Member(cluster, "server"), {"gpu", "gpusPerServer"})}};
  return picked;
}

}  // namespace

json SummaryOf(const json& document, const json& status) {
  const json& spec = Member(document, "spec");
  const json& cluster = Member(spec, "cluster");
  const json& prediction = Member(status, "prediction");
  json object = {
      {"metadata",
       Pick(Member(document, "metadata"), {"name", "namespace", "uid", "resourceVersion", "labels",
                                           "creationTimestamp", "deletionTimestamp"})},
      {"spec", Pick(spec, {"clusterRef", "servers", "command", "suspend"})},
      {"status", Pick(status, {"phase", "progress", "simulation", "startTime", "completionTime"})}};
  if (!cluster.empty()) {
    object["spec"]["cluster"] = Pick(cluster, {"servers"});
    object["spec"]["cluster"]["server"] =
        Pick(Member(cluster, "server"), {"preset", "gpu", "gpusPerServer"});
  }
  object["status"]["conditions"] = StandingCondition(status);
  if (prediction.empty()) return object;
  json& shown = object["status"]["prediction"];
  shown = Pick(prediction,
               {"measuredIterations", "iterationSeconds", "tokensPerSecond", "steadyIteration",
                "throughput", "tokensSource", "modelFlopsUtilization", "matrixFlops", "program"});
  if (prediction.contains("memory")) {
    shown["memory"] = Pick(prediction["memory"], {"peakReservedBytes", "capacityBytes", "fits"});
  }
  if (prediction.contains("target")) shown["target"] = TargetOf(prediction["target"]);
  return object;
}

}  // namespace eidolon::controller::job
