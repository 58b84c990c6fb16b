// The least of many times that change one at a time: a tournament in which a change plays only the
// rounds above it, log2 of their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::network::horizon {

// This class is not thread-safe.
class BoundTree {
 public:
  using Place = std::uint32_t;

  // Takes part from now on; the place names it until Remove.
  Place Add(base::SimTime bound);
  // Requires: the place is taken, here and below.
  void Set(Place place, base::SimTime bound);
  void Remove(Place place);

  // SimTime::Max() when nothing takes part.
  base::SimTime Least() const { return nodes_.empty() ? base::SimTime::Max() : nodes_[1]; }

 private:
  void Grow();

  // A heap-shaped tree: node n has the children 2 n and 2 n + 1, the last leaves_ nodes are places.
  std::vector<base::SimTime> nodes_;
  std::size_t leaves_ = 0;
  std::vector<Place> free_;
};

}  // namespace eidolon::network::horizon
