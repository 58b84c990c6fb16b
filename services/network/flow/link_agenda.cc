#include "services/network/flow/link_agenda.h"

#include <algorithm>
#include <functional>

namespace eidolon::network::flow {

// Requires: the link is not queued, and binds flows or carries too much.
void LinkAgenda::Enter(std::uint32_t at) {
  FlowTable::Link& link = table_.link(at);
  // The level it had is a good enough guess of its place in the order, without a division.
  std::uint64_t key = link.level;
  if (link.bound > 0) {
    if (key == FlowTable::kUnbound) key = link.LevelIfShared();
  } else {
    key = link.capacity / table_.link(at).members.size();
  }
  link.queued = true;
  links_.emplace_back(key, at);
  std::push_heap(links_.begin(), links_.end(), std::greater<>());
}

std::uint32_t LinkAgenda::Take() {
  std::pop_heap(links_.begin(), links_.end(), std::greater<>());
  const std::uint32_t at = links_.back().second;
  links_.pop_back();
  table_.link(at).queued = false;
  return at;
}

void LinkAgenda::Clear() {
  for (const auto& [key, at] : links_) table_.link(at).queued = false;
  links_.clear();
}

}  // namespace eidolon::network::flow
