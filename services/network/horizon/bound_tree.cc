#include "services/network/horizon/bound_tree.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::network::horizon {

using base::SimTime;

void BoundTree::Grow() {
  const std::size_t before = leaves_;
  leaves_ = std::max<std::size_t>(1, 2 * before);
  std::vector<SimTime> nodes(2 * leaves_, SimTime::Max());
  if (before > 0) {
    std::copy(nodes_.begin() + static_cast<std::ptrdiff_t>(before), nodes_.end(),
              nodes.begin() + static_cast<std::ptrdiff_t>(leaves_));
  }
  nodes_ = std::move(nodes);
  for (std::size_t at = leaves_ - 1; at > 0; --at) {
    nodes_[at] = std::min(nodes_[2 * at], nodes_[2 * at + 1]);
  }
  for (std::size_t place = leaves_; place > before; --place) {
    free_.push_back(static_cast<Place>(place - 1));
  }
}

BoundTree::Place BoundTree::Add(SimTime bound) {
  if (free_.empty()) Grow();
  const Place place = free_.back();
  free_.pop_back();
  Set(place, bound);
  return place;
}

void BoundTree::Set(Place place, SimTime bound) {
  CHECK(place < leaves_);
  std::size_t at = leaves_ + place;
  nodes_[at] = bound;
  while (at > 1) {
    at /= 2;
    const SimTime least = std::min(nodes_[2 * at], nodes_[2 * at + 1]);
    if (nodes_[at] == least) break;
    nodes_[at] = least;
  }
}

void BoundTree::Remove(Place place) {
  Set(place, SimTime::Max());
  free_.push_back(place);
}

}  // namespace eidolon::network::horizon
