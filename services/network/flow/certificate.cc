#include "services/network/flow/certificate.h"

#include <algorithm>
#include <vector>

namespace eidolon::network::flow {

bool Certified(const FlowTable& table, double tolerance) {
  const auto about = [&](std::uint64_t value) {
    return 64 + static_cast<std::uint64_t>(static_cast<double>(value) * tolerance);
  };
  std::vector<std::uint64_t> loads(table.LinkCount());
  std::vector<std::uint64_t> fastest(table.LinkCount(), 0);
  for (std::uint32_t at = 0; at < table.LinkCount(); ++at) {
    loads[at] = table.LoadOf(at);
    for (const FlowTable::Member& member : table.link(at).members) {
      fastest[at] = std::max(fastest[at], table.level(member.flow));
    }
    if (loads[at] > table.link(at).capacity + about(table.link(at).capacity)) return false;
  }
  for (FlowTable::Slot slot = 0; slot < table.SlotCount(); ++slot) {
    const FlowTable::Flow& flow = table.flow(slot);
    if (!flow.live) continue;
    const std::uint64_t level = table.level(slot);
    bool held = level + about(level) >= flow.cap;
    for (std::uint32_t hop = 0; hop < flow.hops && !held; ++hop) {
      const std::uint32_t at = table.EntryOf(flow, hop).link;
      const std::uint64_t capacity = table.link(at).capacity;
      const bool full = loads[at] + about(capacity) + table.link(at).members.size() * 2 >= capacity;
      held = full && fastest[at] <= level + about(level);
    }
    if (!held) return false;
  }
  return true;
}

}  // namespace eidolon::network::flow
