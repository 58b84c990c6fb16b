#include "services/agent/server/link_loads.h"

#include <cstdint>
#include <optional>
#include <string>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/server/timeline_file.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

using base::SimTime;
using base::StrCat;

namespace {

std::string NameOf(const network::v1::ServerLink& link) {
  const char* direction = link.inbound() ? " in" : " out";
  switch (link.tier()) {
    case network::v1::LINK_TIER_NVLINK:
      return StrCat("GPU ", link.number(), " NVLink", direction);
    case network::v1::LINK_TIER_PCIE:
      return StrCat("GPU ", link.number(), " PCIe", direction);
    case network::v1::LINK_TIER_NIC:
      return StrCat("NIC ", link.number(), direction);
    default:
      return StrCat("GPU ", link.number(), " link", direction);
  }
}

}  // namespace

base::Result<std::vector<timeline::LinkLoad>> ReadLinkLoads(const Processes& processes,
                                                            client::NetworkClient* network) {
  const std::optional<ShownTime> shown = TimeShown(processes);
  if (!shown.has_value()) return {};
  const auto answer = network->ReadLinkLoads(static_cast<std::uint64_t>(shown->start.ps),
                                             static_cast<std::uint64_t>(shown->finish.ps));
  if (!answer) return std::unexpected(answer.error());
  std::vector<timeline::LinkLoad> loads;
  for (const network::v1::ServerLink& link : answer->links()) {
    loads.push_back({.name = NameOf(link), .changes = {}});
  }
  const int changes = answer->change_links_size();
  if (answer->change_picoseconds_size() != changes ||
      answer->change_bytes_per_second_size() != changes) {
    return base::Fail(base::ErrorCode::kInternal, "the answer's lists are not of one length");
  }
  for (int i = 0; i < changes; ++i) {
    const std::uint32_t link = answer->change_links(i);
    if (link >= loads.size()) continue;
    const SimTime at{static_cast<std::int64_t>(answer->change_picoseconds(i))};
    if (at > shown->finish) continue;
    loads[link].changes.emplace_back(at, answer->change_bytes_per_second(i));
  }
  return loads;
}

base::Result<LinkNames> ReadLinkNames(const Processes& processes, client::NetworkClient* network) {
  const std::set<std::uint32_t> shown = LinksShown(processes);
  if (shown.empty()) return {};
  std::vector<std::uint32_t> links;
  for (const std::uint32_t link : shown) links.push_back(link - 1);
  const auto names = network->ReadLinkNames(links);
  if (!names) return std::unexpected(names.error());
  LinkNames named;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!(*names)[i].empty()) named.emplace(links[i] + 1, (*names)[i]);
  }
  return named;
}

}  // namespace eidolon::agent::server
