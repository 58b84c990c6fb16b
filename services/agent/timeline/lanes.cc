#include "services/agent/timeline/lanes.h"

namespace eidolon::agent::timeline {

using base::SimTime;

bool Lanes::Fits(std::vector<SimTime>* open, SimTime start, SimTime end) const {
  while (!open->empty() && open->back() <= start) open->pop_back();
  if (open->empty()) return true;
  return nesting_ == Nesting::kAllowed && end <= open->back();
}

std::size_t Lanes::Place(SimTime start, SimTime end) {
  std::size_t lane = 0;
  while (lane < lanes_.size() && !Fits(&lanes_[lane], start, end)) ++lane;
  if (lane == lanes_.size()) lanes_.emplace_back();
  lanes_[lane].push_back(end);
  return lane;
}

}  // namespace eidolon::agent::timeline
