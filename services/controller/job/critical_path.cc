#include "services/controller/job/critical_path.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;

constexpr std::size_t kListedRanksMax = 32;
constexpr std::size_t kNameMax = 256;

double ShareOf(base::Duration time, base::Duration length) {
  return length.ps > 0 ? static_cast<double>(time.ps) / static_cast<double>(length.ps) : 0;
}

}  // namespace

json ToJson(const critical_path::Summary& summary) {
  const auto with_time = [&](base::Duration time, json entry) {
    entry["picoseconds"] = time.ps;
    entry["share"] = ShareOf(time, summary.length);
    return entry;
  };
  json kinds = json::array();
  for (const auto& [kind, time] : summary.kinds) {
    kinds.push_back(with_time(time, {{"kind", critical_path::Name(kind)}}));
  }
  base::Duration communication;
  for (const critical_path::TierTime& link : summary.links) communication += link.time;
  json links = json::array();
  for (const auto& [tier, time] : summary.links) {
    links.push_back({{"link", critical_path::Name(tier)},
                     {"picoseconds", time.ps},
                     {"share", ShareOf(time, communication)}});
  }
  json named_links = json::array();
  for (const critical_path::NamedLinkTime& link : summary.named_links) {
    named_links.push_back({{"name", Beginning(link.name, kNameMax)},
                           {"link", critical_path::Name(link.tier)},
                           {"picoseconds", link.time.ps},
                           {"share", ShareOf(link.time, communication)}});
  }
  json ranks = json::array();
  base::Duration others;
  for (const auto& [rank, time] : summary.ranks) {
    if (ranks.size() < kListedRanksMax) {
      ranks.push_back(with_time(time, {{"rank", rank}}));
    } else {
      others += time;
    }
  }
  json operations = json::array();
  for (const critical_path::OperationTime& operation : summary.operations) {
    operations.push_back(with_time(operation.time, {{"kind", critical_path::Name(operation.kind)},
                                                    {"name", Beginning(operation.name, kNameMax)},
                                                    {"times", operation.times}}));
  }
  json out = {{"picoseconds", summary.length.ps},  {"kinds", std::move(kinds)},
              {"links", std::move(links)},         {"namedLinks", std::move(named_links)},
              {"ranks", std::move(ranks)},         {"operations", std::move(operations)},
              {"segments", summary.segments},      {"rankChanges", summary.rank_changes},
              {"ranksShown", summary.ranks_shown}, {"operationsLeftOut", summary.left_out}};
  // As the report counts them: warm-up included, from 1.
  if (summary.iteration) out["iteration"] = *summary.iteration + 1;
  if (others.ps > 0) out["otherRanksPicoseconds"] = others.ps;
  return out;
}

}  // namespace eidolon::controller::job
