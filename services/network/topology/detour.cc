#include "services/network/topology/detour.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "services/base/check.h"

namespace eidolon::network::topology {

Detour::Detour(std::shared_ptr<const Fabric> whole, const std::vector<Wire>& wires,
               std::uint32_t switches, std::uint32_t servers_per_switch, std::vector<bool> failed)
    : whole_(std::move(whole)),
      servers_per_switch_(servers_per_switch),
      failed_(std::move(failed)),
      leaving_(switches) {
  capacities_.assign(whole_->capacities().begin(), whole_->capacities().end());
  CHECK(failed_.size() == capacities_.size());
  for (const Wire& wire : wires) {
    if (!failed_[wire.link]) leaving_[wire.from].push_back(wire);
  }
}

bool Detour::Crosses(const Route& route, std::uint32_t begin, LinkIndex first) const {
  const auto links = route.Links().subspan(begin);
  return std::ranges::any_of(links, [&](LinkIndex link) { return failed_[link - first]; });
}

void Detour::Append(Port from, Port to, std::uint32_t pair, LinkIndex first, Route& route) const {
  const std::uint32_t begin = route.length;
  whole_->Append(from, to, pair, first, route);
  if (!Crosses(route, begin, first)) return;
  const std::uint32_t source = from.server / servers_per_switch_;
  const std::uint32_t target = to.server / servers_per_switch_;
  // The wire that first reached each switch, searching from the source.
  std::vector<std::optional<Wire>> reached(leaving_.size());
  std::deque<std::uint32_t> next{source};
  while (!next.empty() && !reached[target]) {
    const std::uint32_t at = next.front();
    next.pop_front();
    for (const Wire& wire : leaving_[at]) {
      if (wire.to == source || reached[wire.to]) continue;
      reached[wire.to] = wire;
      next.push_back(wire.to);
    }
  }
  if (!reached[target]) return;
  std::vector<LinkIndex> way;
  for (std::uint32_t at = target; at != source; at = reached[at]->from) {
    way.push_back(reached[at]->link);
  }
  // One more link is needed behind the fabric: the other NIC's.
  if (begin + way.size() + 2 > Route::kLinksMax) return;
  route.length = begin;
  for (auto link = way.rbegin(); link != way.rend(); ++link) route.Append(first + *link);
}

}  // namespace eidolon::network::topology
