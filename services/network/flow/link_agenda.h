// Links whose inputs have changed, so that their levels must be looked at again: the slowest first,
// because a link's level depends on slower links alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "services/network/flow/flow_table.h"

namespace eidolon::network::flow {

// Works on a table of flows that outlives it. Invariant: a link is on the agenda exactly if it is
// marked `queued`. Not thread safe.
class LinkAgenda {
 public:
  explicit LinkAgenda(FlowTable& table) : table_(table) {}
  // The same agenda for a copy of the table.
  LinkAgenda(const LinkAgenda& other, FlowTable& copy) : table_(copy), links_(other.links_) {}
  LinkAgenda(const LinkAgenda&) = delete;
  LinkAgenda& operator=(const LinkAgenda&) = delete;

  // The link's inputs changed: it is looked at again if that can matter.
  void Mark(std::uint32_t at) { Mark(at, table_.link(at)); }
  // The same for a caller that has looked the link up.
  void Mark(std::uint32_t at, const FlowTable::Link& link) {
    const bool spare = link.bound == 0 && link.foreign <= link.capacity;
    if (!link.queued && !spare) Enter(at);
  }
  bool Empty() const { return links_.empty(); }
  // The slowest link, by what its level was when it was marked. Requires: not Empty().
  std::uint32_t Take();
  void Clear();

 private:
  void Enter(std::uint32_t link);

  FlowTable& table_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> links_;  // By level: a heap.
};

}  // namespace eidolon::network::flow
