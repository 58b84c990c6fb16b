// FlowEngine's queue of ends: which link's group, or which flow at its cap, comes to an end next.
#include <algorithm>

#include "services/network/flow/flow_engine.h"

namespace eidolon::network::flow {
namespace {

constexpr std::uint32_t kFan = 4;

}  // namespace

base::SimTime FlowEngine::EndTime(std::uint32_t id) const {
  if (id < links_.size()) return groups_[id].end;
  return {static_cast<std::int64_t>(flows_[id - links_.size()].goal)};
}

std::uint32_t& FlowEngine::Position(std::uint32_t id) {
  if (id < links_.size()) return groups_[id].position;
  return flows_[id - links_.size()].place;
}

void FlowEngine::QueueUp(std::uint32_t position) {
  const std::uint32_t id = queue_[position];
  const base::SimTime end = EndTime(id);
  while (position > 0) {
    const std::uint32_t parent = (position - 1) / kFan;
    if (EndTime(queue_[parent]) <= end) break;
    queue_[position] = queue_[parent];
    Position(queue_[position]) = position;
    position = parent;
  }
  queue_[position] = id;
  Position(id) = position;
}

void FlowEngine::QueueDown(std::uint32_t position) {
  const std::uint32_t id = queue_[position];
  const base::SimTime end = EndTime(id);
  for (;;) {
    const std::uint32_t first = position * kFan + 1;
    const auto beyond =
        std::min<std::uint32_t>(first + kFan, static_cast<std::uint32_t>(queue_.size()));
    std::uint32_t least = position;
    base::SimTime earliest = end;
    for (std::uint32_t child = first; child < beyond; ++child) {
      const base::SimTime time = EndTime(queue_[child]);
      if (time < earliest) {
        least = child;
        earliest = time;
      }
    }
    if (least == position) break;
    queue_[position] = queue_[least];
    Position(queue_[position]) = position;
    position = least;
  }
  queue_[position] = id;
  Position(id) = position;
}

// Enters it, or puts it where its end has moved to.
void FlowEngine::QueuePut(std::uint32_t id) {
  std::uint32_t position = Position(id);
  if (position == kNone) {
    position = static_cast<std::uint32_t>(queue_.size());
    queue_.push_back(id);
  }
  QueueUp(position);
  QueueDown(Position(id));
}

void FlowEngine::QueueRemove(std::uint32_t id) {
  const std::uint32_t position = Position(id);
  if (position == kNone) return;
  Position(id) = kNone;
  const std::uint32_t last = queue_.back();
  queue_.pop_back();
  if (last == id) return;
  queue_[position] = last;
  QueueUp(position);
  QueueDown(Position(last));
}

}  // namespace eidolon::network::flow
