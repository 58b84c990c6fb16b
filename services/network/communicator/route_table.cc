#include "services/network/communicator/route_table.h"

namespace eidolon::network::communicator {

flow::LinkUses RouteTable::Find(const Key& key,
                                const std::function<std::vector<flow::LinkUse>()>& make) {
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  flow::LinkUses made = flow::ShareUses(make());
  const std::size_t links = made == nullptr ? 0 : made->size();
  if (links_ + links > kLinksMax) Clear();
  links_ += links + 1;
  known_.emplace(key, made);
  return made;
}

void RouteTable::Clear() {
  known_.clear();
  links_ = 0;
}

}  // namespace eidolon::network::communicator
