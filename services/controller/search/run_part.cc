// controller/sweep/sweep.h says for which fields a recording answers. A preset of servers stands
// for some of the others too, so what they resolve to is added. So is the server's processor, which
// follows from the GPU where nobody names it: a recording has the host's time of the processor that
// it was made for.
#include "services/controller/search/run_part.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "services/controller/job/cluster.h"
#include "services/controller/job/job.h"
#include "services/controller/job/resolve.h"
#include "services/controller/search/points.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::search {
namespace {

using nlohmann::json;

std::optional<job::ResolvedJob> Resolved(const json& spec) {
  Point point;
  point.job = spec;
  const job::ParsedJob parsed = job::ParseJob(DocumentOf(point, "point"), job::Mode::kEmbedded);
  if (!parsed.problems.empty() || !parsed.spec.cluster) return std::nullopt;
  job::Problems problems;
  job::ResolvedJob resolved = job::Resolve(
      parsed.spec, nullptr, [] { return std::vector<std::string>(); }, &problems);
  if (!problems.empty()) return std::nullopt;
  return resolved;
}

// "/cluster/server/gpu" as "cluster.server.gpu".
bool IsReplayedAt(std::string pointer) {
  pointer.erase(0, 1);
  std::ranges::replace(pointer, '/', '.');
  return sweep::IsReplayed(pointer);
}

}  // namespace

std::string RunPartOf(const json& spec) {
  const auto resolved = Resolved(spec);
  if (!resolved) return "";
  json part = json::object();
  const json fields = spec.flatten();
  for (const auto& [pointer, value] : fields.items()) {
    if (!IsReplayedAt(pointer)) part[pointer] = value;
  }
  part["ranks"] = resolved->ranks();
  part["ranksPerServer"] = resolved->ranks_per_server;
  part["gpusPerServer"] = resolved->cluster.gpus_per_server;
  part["cpu"] = job::ToJson(resolved->cluster)["server"].value("cpu", json());
  return part.dump();
}

std::string MemoryPartOf(const json& spec) {
  const auto resolved = Resolved(spec);
  if (!resolved) return "";
  json server = job::ToJson(resolved->cluster)["server"];
  for (const char* name : {"gpuClock", "powerLimit"}) server.erase(name);
  if (server.contains("nics")) server["nics"].erase("gbps");
  return server.dump();
}

bool HasReplayedParameter(const SearchSpec& spec) {
  sweep::SweepPoint base;
  for (const auto& [name, values] : spec.space) base.emplace_back(name, values.front());
  for (std::size_t i = 0; i < spec.space.size(); ++i) {
    if (spec.space[i].second.size() < 2) continue;
    sweep::SweepPoint other = base;
    other[i].second = spec.space[i].second.back();
    const json before = FillJob(spec.job, base), after = FillJob(spec.job, other);
    const json differences = json::diff(before, after);
    const bool is_replayed = std::ranges::all_of(differences, [](const json& difference) {
      return IsReplayedAt(difference["path"].get<std::string>());
    });
    if (!differences.empty() && is_replayed) return true;
  }
  return false;
}

}  // namespace eidolon::controller::search
