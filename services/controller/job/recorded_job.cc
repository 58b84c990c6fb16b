// A recording has the records of live ranks alone, and a replay needs the same ones. Which ranks
// are live follows from the job's spec and from the dimensions that its run has found, so the job
// block keeps these dimensions with the sizes that they are of. Old recordings have none: all ranks
// ran.
#include "services/controller/job/recorded_job.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"
#include "services/controller/job/found_classes.h"

namespace eidolon::controller::job {

using base::StrCat;
using nlohmann::json;

namespace {

constexpr char kRanks[] = "ranks";
constexpr char kRanksPerServer[] = "ranksPerServer";
constexpr char kDimensions[] = "dimensions";

// What the text says of folding; null when all ranks ran.
json RecordedFolding(std::string_view head) {
  const json block = json::parse(head, nullptr, /*allow_exceptions=*/false);
  if (!block.is_object()) return {};
  json folding = block.value("folding", json());
  return folding.is_object() ? folding : json();
}

}  // namespace

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

std::string RecordingHead(json job, json status, const ResolvedJob& resolved) {
  json head = {{"job", std::move(job)}, {"status", std::move(status)}};
  if (resolved.fold.is_folded()) {
    head["folding"] = {{kRanks, resolved.ranks()},
                       {kRanksPerServer, resolved.ranks_per_server},
                       {kDimensions, ToJson(resolved.fold.dimensions())}};
  }
  return head.dump();
}

void FoldAsRecorded(std::string_view head, ResolvedJob* resolved, Problems* problems) {
  const json recorded = RecordedFolding(head);
  if (recorded.is_null()) return;
  const FoldingSpec& spec = resolved->spec.folding;
  if (spec.mode == FoldingSpec::Mode::kOff) {
    problems->push_back(
        {"/spec/folding/mode",
         "is off, and the recorded job was folded: the recording has its live ranks "
         "alone, so leave the field out"});
    return;
  }
  const json ranks = recorded.value(kRanks, json());
  const json per_server = recorded.value(kRanksPerServer, json());
  if (ranks != resolved->ranks() || per_server != resolved->ranks_per_server) {
    problems->push_back(
        {"/spec/cluster",
         StrCat("makes ", resolved->ranks(), " ranks, ", resolved->ranks_per_server,
                " on a server, and the recorded job had ", ranks.dump(), ", ", per_server.dump(),
                " on a server; what a job of another size does, a recording cannot tell")});
    return;
  }
  auto fold =
      folding::Fold::Make({.ranks = resolved->ranks(),
                           .dimensions = DimensionsFromJson(recorded.value(kDimensions, json())),
                           .live_per_class = spec.live_per_class,
                           .live = spec.live});
  if (!fold) {
    problems->push_back({"/spec/folding", fold.error().message});
    return;
  }
  if (fold->mirrored_ranks() > 0) resolved->fold = std::move(*fold);
}

}  // namespace eidolon::controller::job
