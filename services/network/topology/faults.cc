// The part of Topology that faults change: which links they name, and the ways round failed ones.
#include <algorithm>
#include <map>
#include <string>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::topology {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

Result<void> Topology::PlanChanges() {
  if (wiring_.cluster.faults.empty()) return {};
  // The links of each name that a fault gives, in full or without what follows a comma.
  std::map<std::string, std::vector<LinkIndex>, std::less<>> named;
  for (const Fault& fault : wiring_.cluster.faults) named.try_emplace(fault.link);
  for (LinkIndex link = 0; link < LinkCount(); ++link) {
    const std::string name = LinkName(link);
    for (std::size_t end = name.find(','); true; end = name.find(',', end + 1)) {
      const auto found = named.find(std::string_view(name).substr(0, end));
      if (found != named.end()) found->second.push_back(link);
      if (end == std::string::npos) break;
    }
  }
  for (const Fault& fault : wiring_.cluster.faults) {
    const std::vector<LinkIndex>& links = named.at(fault.link);
    if (links.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("fabric.faults: no link is called '", fault.link, "'; there are '",
                         LinkName(0), "' and '", LinkName(LinkCount() - 1), "'"));
    }
    for (LinkIndex link : links) {
      if (fault.capacity_factor == 0 && (link < first_fabric_ || !fabric_->Reroutes())) {
        return Fail(ErrorCode::kInvalidArgument,
                    StrCat("fabric.faults: '", fault.link,
                           "' fails, and there is no way round it: what uses it would never end; "
                           "use a capacityFactor above 0"));
      }
      const auto capacity = static_cast<std::uint64_t>(static_cast<double>(capacities_[link]) *
                                                       fault.capacity_factor);
      const base::SimTime at{base::Duration::FromSeconds(fault.at_seconds).ps};
      changes_.push_back(
          {at, link, fault.capacity_factor == 0 ? 0 : std::max<std::uint64_t>(1, capacity)});
    }
  }
  // Of one instant's changes to one link the last that is written counts.
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
  return {};
}

Result<void> Topology::CheckBackground() const {
  for (const Background& traffic : wiring_.cluster.background) {
    if (traffic.rail < wiring_.rails && DomainOf(traffic.from) != DomainOf(traffic.to)) continue;
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("fabric.background on rail ", traffic.rail, " from server ", traffic.from,
                       " to server ", traffic.to, " crosses no fabric; a server has ",
                       wiring_.rails, " rails"));
  }
  return {};
}

bool Topology::SetFailed(LinkIndex link, bool failed) {
  CHECK(link < LinkCount());
  if (link < first_fabric_) return false;
  failed_.resize(LinkCount() - first_fabric_);
  const LinkIndex at = link - first_fabric_;
  if (failed_[at] == failed) return false;
  failed_[at] = failed;
  failed ? ++failed_count_ : --failed_count_;
  detour_ = failed_count_ > 0 ? fabric_->Without(failed_) : nullptr;
  return true;
}

bool Topology::CrossesFailed(const Route& route, std::uint32_t begin) const {
  for (std::uint32_t at = begin; at < route.length; ++at) {
    if (failed_[route.links[at] - first_fabric_]) return true;
  }
  return false;
}

void Topology::AppendFabric(Port from, Port to, std::uint32_t pair, Route& route) const {
  const std::uint32_t begin = route.length;
  const Fabric& fabric = detour_ ? *detour_ : *fabric_;
  fabric.Append(from, to, pair, first_fabric_, route);
  if (failed_count_ == 0 || !CrossesFailed(route, begin)) return;
  // Switches hash over the links that are left, which other queue pairs' numbers stand for.
  constexpr std::uint32_t kAttempts = 256;
  const Route straight = route;
  for (std::uint32_t attempt = 1; attempt <= kAttempts; ++attempt) {
    route.length = begin;
    fabric.Append(from, to, pair + attempt * 65537u, first_fabric_, route);
    if (!CrossesFailed(route, begin)) return;
  }
  route = straight;  // There is no other way: it waits.
}

}  // namespace eidolon::network::topology
