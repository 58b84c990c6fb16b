// Links that need not be looked at, because they cannot bind. The narrowest neighbour of a link on
// a flow's route limits what the flow brings there; where those of all its members have no more
// capacity together than the link, and each keeps to its own, the link never fills. "Narrower" is
// meant of the capacities at the beginning, so that no two links vouch for each other.
#pragma once

#include <cstdint>

#include "services/network/flow/flow_table.h"
#include "services/network/flow/link_agenda.h"

namespace eidolon::network::flow {

// Decides which links of a table are awake, and marks them and the flows' masks. The table and the
// agenda outlive it; what it counts is beside the links. Invariants: a sleeping link's narrower
// links have no more capacity together than it; a link that is awake counts none. Not thread safe.
class Pruner {
 public:
  using Slot = FlowTable::Slot;

  // All links sleep. Requires: the table is empty, or one whose links this has been told of.
  Pruner(FlowTable& table, LinkAgenda& agenda) : table_(table), agenda_(agenda) {}
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;

  // Requires: the flow has just been added to the table.
  void Join(Slot slot);
  // Requires: the flow has just left its links.
  void Leave(Slot slot);
  // The link's capacity was another before.
  void Refeed(std::uint32_t link, std::uint64_t before);

 private:
  using Feed = LinkFeeding::Feed;

  std::uint64_t BuiltOf(std::uint32_t link) const { return table_.link(link).feeding.built; }
  Feed* FeedOf(std::uint32_t feeder, std::uint32_t link);
  std::uint32_t FeederOf(const FlowTable::Flow& flow, std::uint32_t hop);
  void CountIn(FlowTable::Flow& flow, std::uint32_t hop);
  void CountOut(const FlowTable::Flow& flow, std::uint32_t hop);
  void FindOthers(Slot slot);
  void WakeIfShort(std::uint32_t link);

  FlowTable& table_;
  LinkAgenda& agenda_;
};

}  // namespace eidolon::network::flow
