#include "services/network/flow/load_history.h"

#include <algorithm>

namespace eidolon::network::flow {

void LoadHistory::Forget(std::uint32_t link) {
  if (links_.erase(link) == 0) return;
  std::erase_if(changes_, [link](const LoadChange& change) { return change.link == link; });
}

void LoadHistory::Add(const LoadChange& change) {
  if (changes_.size() >= changes_max_) {
    const LoadChange& oldest = changes_.front();
    links_.at(oldest.link).first = oldest.load;
    known_from_ = oldest.at;
    changes_.pop_front();
  }
  changes_.push_back(change);
}

std::vector<LoadChange> LoadHistory::Read(const std::vector<std::uint32_t>& links,
                                          base::SimTime from, base::SimTime to) const {
  const base::SimTime begin = std::max(from, known_from_);
  std::map<std::uint32_t, std::uint64_t> loads;
  for (const std::uint32_t link : links) loads[link] = links_.at(link).first;
  auto change = changes_.begin();
  for (; change != changes_.end() && change->at <= begin; ++change) {
    if (const auto load = loads.find(change->link); load != loads.end()) {
      load->second = change->load;
    }
  }
  std::vector<LoadChange> found;
  for (const auto& [link, load] : loads) found.push_back({.at = begin, .link = link, .load = load});
  for (; change != changes_.end() && change->at <= to; ++change) {
    if (loads.contains(change->link)) found.push_back(*change);
  }
  return found;
}

}  // namespace eidolon::network::flow
