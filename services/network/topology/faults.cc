// The part of Topology that faults change: which links they name, and the ways round failed ones.
// Users name links as reports show them, so a name also matches without what follows a comma, and a
// cable in both directions. All changes are planned when the cluster is made: a wrong name fails
// before the job begins. Only links of the fabric may fail altogether, because nothing leads round
// a GPU's port or a NIC. A fabric whose queue pairs spread is asked for the ways of other pairs
// until one avoids the failure.
#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/network/topology/topology.h"

namespace eidolon::network::topology {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

// What a fault's name stands for: a link, or one of the parallel links that it is the sum of.
struct Target {
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};
  LinkIndex link = 0;
  std::uint32_t part = kAll;
};

// The targets of each name that a fault gives.
class Targets {
 public:
  explicit Targets(std::span<const Fault> faults) {
    for (const Fault& fault : faults) named_.try_emplace(fault.link);
  }
  const std::vector<Target>& Of(const Fault& fault) const { return named_.at(fault.link); }

  void Add(std::string_view name, Target target) {
    const auto found = named_.find(name);
    if (found != named_.end()) found->second.push_back(target);
  }
  // A cable in both directions: "leaf 3 to spine 2" means both "leaf 3, up to spine 2" and
  // "leaf 3, down to spine 2".
  void AddBothWays(std::string_view name, Target target) {
    for (const std::string_view direction : {", up to ", ", down to "}) {
      const std::size_t at = name.find(direction);
      if (at == std::string_view::npos) continue;
      Add(StrCat(name.substr(0, at), " to ", name.substr(at + direction.size())), target);
    }
  }

 private:
  std::map<std::string, std::vector<Target>, std::less<>> named_;
};

Targets FindTargets(const Topology& topology) {
  Targets targets(topology.wiring().cluster.faults);
  for (LinkIndex link = 0; link < topology.LinkCount(); ++link) {
    // The name matches in full, or without what follows a comma.
    const std::string name = topology.LinkName(link);
    for (std::size_t end = name.find(','); true; end = name.find(',', end + 1)) {
      targets.Add(std::string_view(name).substr(0, end), {link});
      if (end == std::string::npos) break;
    }
    targets.AddBothWays(name, {link});
    if (link < topology.first_fabric()) continue;
    const LinkIndex at = link - topology.first_fabric();
    const std::uint32_t parts = topology.fabric().PartsOf(at);
    for (std::uint32_t part = 0; parts > 1 && part < parts; ++part) {
      const std::string of = topology.fabric().PartName(at, part);
      targets.Add(of, {link, part});
      targets.AddBothWays(of, {link, part});
    }
  }
  return targets;
}

// Capacity that is left of a link, as faults change it and its parts.
class Remains {
 public:
  Remains(std::uint32_t parts, std::uint64_t capacity) : factors_(parts, 1), capacity_(capacity) {}

  void Set(std::uint32_t part, double factor) {
    if (part == Target::kAll) {
      std::fill(factors_.begin(), factors_.end(), factor);
    } else {
      factors_[part] = factor;
    }
  }
  // 0 only when all parts have failed.
  std::uint64_t Capacity() const {
    const double sum = std::accumulate(factors_.begin(), factors_.end(), 0.0);
    if (sum == 0) return 0;
    const double part = sum / static_cast<double>(factors_.size());
    const auto left = static_cast<std::uint64_t>(static_cast<double>(capacity_) * part);
    return std::max<std::uint64_t>(1, left);
  }

 private:
  std::vector<double> factors_;
  std::uint64_t capacity_;
};

}  // namespace

Result<void> Topology::PlanChanges() {
  if (wiring_.cluster.faults.empty()) return {};
  const Targets targets = FindTargets(*this);
  // The last written change of one instant to a link counts.
  std::vector<Fault> faults = wiring_.cluster.faults;
  std::ranges::stable_sort(faults, {}, &Fault::at_seconds);
  std::map<LinkIndex, Remains> remains;
  for (const Fault& fault : faults) {
    const std::vector<Target>& named = targets.Of(fault);
    if (named.empty()) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("fabric.faults: no link is called '", fault.link, "'; there are '",
                         LinkName(0), "' and '", LinkName(LinkCount() - 1), "'"));
    }
    const base::SimTime at{base::Duration::FromSeconds(fault.at_seconds).ps};
    for (const Target& target : named) {
      if (fault.capacity_factor == 0 && target.link < first_fabric_) {
        return Fail(ErrorCode::kInvalidArgument,
                    StrCat("fabric.faults: '", fault.link,
                           "' fails, and there is no way round it: what uses it would never end; "
                           "use a capacityFactor above 0"));
      }
      const bool inside = target.link < first_fabric_;
      const std::uint32_t parts = inside ? 1 : fabric_->PartsOf(target.link - first_fabric_);
      Remains& left =
          remains.try_emplace(target.link, parts, capacities_[target.link]).first->second;
      left.Set(target.part, fault.capacity_factor);
      changes_.push_back({at, target.link, left.Capacity()});
    }
  }
  return {};
}

std::vector<std::string> Topology::FailedLinks() const {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < failed_.size(); ++at) {
    if (failed_[at]) names.push_back(fabric_->LinkName(static_cast<LinkIndex>(at)));
  }
  return names;
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
  if (!fabric.Splits()) return;  // There is no other way: it waits.
  // Switches hash over the links that are left, which other queue pairs' numbers stand for.
  constexpr std::uint32_t kAttempts = 256;
  const Route straight = route;
  for (std::uint32_t attempt = 1; attempt <= kAttempts; ++attempt) {
    route.length = begin;
    fabric.Append(from, to, pair + attempt * 65537u, first_fabric_, route);
    if (!CrossesFailed(route, begin)) return;
  }
  route = straight;
}

}  // namespace eidolon::network::topology
