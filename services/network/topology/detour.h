// A fabric some of whose links have failed, for kinds whose routes follow from positions: a route
// that would cross a failed link takes a shortest way over those that are left.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/network/topology/fabric.h"

namespace eidolon::network::topology {

// A link from one switch to another.
struct Wire {
  std::uint32_t from = 0, to = 0;
  LinkIndex link = 0;
};

// Immutable.
class Detour final : public Fabric {
 public:
  // Wires are numbered by their switches, of which there are `switches`; `servers_per_switch` are
  // plugged into each in turn. Requires: `failed` has an entry for each link.
  Detour(std::shared_ptr<const Fabric> whole, const std::vector<Wire>& wires,
         std::uint32_t switches, std::uint32_t servers_per_switch, std::vector<bool> failed);

  // What has no way left keeps its old one, and waits.
  void Append(Port from, Port to, std::uint32_t pair, LinkIndex first, Route& route) const override;
  std::string LinkName(LinkIndex link) const override { return whole_->LinkName(link); }
  std::string_view TierOf(LinkIndex link) const override { return whole_->TierOf(link); }
  std::vector<Edge> Edges() const override { return whole_->Edges(); }
  bool Splits() const override { return whole_->Splits(); }
  bool Blocks() const override { return true; }

 private:
  bool Crosses(const Route& route, std::uint32_t begin, LinkIndex first) const;

  std::shared_ptr<const Fabric> whole_;
  std::uint32_t servers_per_switch_;
  std::vector<bool> failed_;
  std::vector<std::vector<Wire>> leaving_;  // Wires that work, by switch.
};

}  // namespace eidolon::network::topology
