// The time of FlowEngine: which flow ends next.
#include "services/network/flow/flow_engine.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::network::flow {

using base::Duration;
using base::SimTime;
using base::Wide;

namespace {

constexpr std::uint64_t kBytesPerSecondMax = std::uint64_t{1} << 48;

// How long work takes at a level, rounded up; not beyond the end of time.
Duration Wait(Wide work, std::uint64_t level, SimTime from) {
  const auto most = static_cast<Wide>(SimTime::Max().ps - from.ps);
  if (level == 0) return Duration{static_cast<std::int64_t>(most)};
  if (work < (static_cast<Wide>(1) << 63)) {
    const auto small = static_cast<std::uint64_t>(work);
    return Duration{static_cast<std::int64_t>(
        std::min<std::uint64_t>((small + level - 1) / level, static_cast<std::uint64_t>(most)))};
  }
  return Duration{static_cast<std::int64_t>(std::min((work + level - 1) / level, most))};
}

}  // namespace

FlowEngine::FlowEngine(std::span<const std::uint64_t> capacities) : groups_(capacities.size()) {
  links_.resize(capacities.size());
  for (std::size_t at = 0; at < capacities.size(); ++at) {
    CHECK(capacities[at] < kBytesPerSecondMax);
    links_[at].capacity = capacities[at] << kRateBits;
    links_[at].built = links_[at].capacity;
  }
}

FlowEngine::Slot FlowEngine::TakeSlot() {
  if (!free_slots_.empty()) {
    const Slot slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  flows_.emplace_back();
  levels_.push_back(0);
  return static_cast<Slot>(flows_.size() - 1);
}

std::vector<std::uint32_t>& FlowEngine::FreeEntries(std::uint32_t count) {
  constexpr std::uint32_t kSmall = 16;
  if (count >= kSmall) return free_large_entries_[count];
  if (free_entries_.empty()) free_entries_.resize(kSmall);
  return free_entries_[count];
}

std::uint32_t FlowEngine::TakeEntries(std::uint32_t count) {
  std::vector<std::uint32_t>& free = FreeEntries(count);
  if (!free.empty()) {
    const std::uint32_t first = free.back();
    free.pop_back();
    return first;
  }
  const auto first = static_cast<std::uint32_t>(entries_.size());
  entries_.resize(entries_.size() + count);
  return first;
}

FlowEngine::Slot FlowEngine::Start(const FlowSpec& spec) {
  CHECK(spec.weight > 0 && spec.cap > 0 && (!spec.hops.empty() || spec.cap < kRateMax));
  const Slot slot = TakeSlot();
  Flow& flow = flows_[slot];
  flow.hops = static_cast<std::uint32_t>(spec.hops.size());
  flow.first = TakeEntries(flow.hops);
  flow.weight = spec.weight;
  flow.cap = spec.cap == kRateMax ? kRateMax : std::max<std::uint64_t>(1, spec.cap / spec.weight);
  flow.goal = (spec.work + spec.weight - 1) / spec.weight;
  flow.place = kNone;
  flow.live = true;
  flow.loose = true;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    CHECK(spec.hops[hop].link < links_.size() && spec.hops[hop].share > 0 &&
          spec.hops[hop].share <= Hop::kWhole);
    entries_[flow.first + hop] = {
        .link = spec.hops[hop].link, .position = 0, .share = spec.hops[hop].share};
  }
  Attach(slot);
  loose_.push_back(slot);
  arrived_.push_back(slot);
  ++active_;
  dirty_ = true;
  return slot;
}

void FlowEngine::Release(Slot slot) {
  Flow& flow = flows_[slot];
  Detach(slot);
  if (flow.hops > 0) FreeEntries(flow.hops).push_back(flow.first);
  flow.live = false;
  flow.loose = false;
  flow.hops = 0;
  free_slots_.push_back(slot);
  --active_;
  dirty_ = true;
}

void FlowEngine::Stop(Slot slot) {
  CHECK(flows_[slot].live);
  Settle();
  RemoveFromOrder(slot);
  Release(slot);
}

void FlowEngine::SetCapacity(std::uint32_t at, std::uint64_t bytes_per_second) {
  CHECK(at < links_.size() && bytes_per_second < kBytesPerSecondMax);
  const std::uint64_t before = links_[at].capacity;
  links_[at].capacity = bytes_per_second << kRateBits;
  dirty_ = true;
  Refeed(at, before);
  Mark(at);
}

void FlowEngine::Catch(Group& group) {
  if (group.updated == now_) return;
  group.progress +=
      static_cast<Wide>(group.level) * static_cast<std::uint64_t>((now_ - group.updated).ps);
  group.updated = now_;
}

// Takes the flow out of the order of ends; until Gather its goal is what is left.
void FlowEngine::Loosen(Slot slot) {
  Flow& flow = flows_[slot];
  if (flow.loose) return;
  if (flow.bound == kNone) {
    const auto end = static_cast<std::int64_t>(flow.goal);
    flow.goal = static_cast<Wide>(end - now_.ps) * levels_[slot];
  } else {
    Group& group = groups_[LinkOf(flow)];
    Catch(group);
    flow.goal = flow.goal > group.progress ? flow.goal - group.progress : 0;
  }
  RemoveFromOrder(slot);
  flow.loose = true;
  loose_.push_back(slot);
}

void FlowEngine::HeapUp(Group& group, std::size_t at) {
  const Slot slot = group.heap[at];
  const Wide goal = flows_[slot].goal;
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    const Slot other = group.heap[parent];
    if (flows_[other].goal <= goal) break;
    group.heap[at] = other;
    flows_[other].place = static_cast<std::uint32_t>(at);
    at = parent;
  }
  group.heap[at] = slot;
  flows_[slot].place = static_cast<std::uint32_t>(at);
}

void FlowEngine::HeapDown(Group& group, std::size_t at) {
  const Slot slot = group.heap[at];
  const Wide goal = flows_[slot].goal;
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= group.heap.size()) break;
    if (child + 1 < group.heap.size() &&
        flows_[group.heap[child + 1]].goal < flows_[group.heap[child]].goal) {
      ++child;
    }
    const Slot other = group.heap[child];
    if (goal <= flows_[other].goal) break;
    group.heap[at] = other;
    flows_[other].place = static_cast<std::uint32_t>(at);
    at = child;
  }
  group.heap[at] = slot;
  flows_[slot].place = static_cast<std::uint32_t>(at);
}

void FlowEngine::RemoveFromOrder(Slot slot) {
  Flow& flow = flows_[slot];
  if (flow.place == kNone) return;
  if (flow.bound == kNone) {
    QueueRemove(EndOf(slot));
    return;
  }
  const std::uint32_t link = LinkOf(flow);
  Group& group = groups_[link];
  const std::size_t at = flow.place;
  const Slot last = group.heap.back();
  group.heap.pop_back();
  if (last != slot) {
    group.heap[at] = last;
    flows_[last].place = static_cast<std::uint32_t>(at);
    HeapUp(group, at);
    HeapDown(group, flows_[last].place);
  }
  flow.place = kNone;
  Touch(link);
}

// Puts the group into the queue by the end of its first flow, or takes it out.
void FlowEngine::PlaceGroup(std::uint32_t at) {
  Group& group = groups_[at];
  if (group.heap.empty() || group.level == 0) {
    QueueRemove(at);
    return;
  }
  const Wide goal = flows_[group.heap.front()].goal;
  const Wide left = goal > group.progress ? goal - group.progress : 0;
  QueuePut(at, group.updated + Wait(left, group.level, group.updated));
}

void FlowEngine::Place(Slot slot) {
  Flow& flow = flows_[slot];
  flow.loose = false;
  if (flow.bound == kNone) {
    const SimTime end = now_ + Wait(flow.goal, levels_[slot], now_);
    flow.goal = static_cast<Wide>(end.ps);
    QueuePut(EndOf(slot), end);
    return;
  }
  const std::uint32_t link = LinkOf(flow);
  Group& group = groups_[link];
  Catch(group);
  flow.goal += group.progress;
  group.heap.push_back(slot);
  HeapUp(group, group.heap.size() - 1);
  Touch(link);
}

// Gives loose flows their places in the order of ends, and changed groups their new ends.
void FlowEngine::Gather() {
  for (std::uint32_t at : touched_) {
    Group& group = groups_[at];
    Catch(group);
    group.level = links_[at].bound > 0 ? links_[at].level : 0;
    if (group.heap.empty()) group.progress = 0;
  }
  for (Slot slot : loose_) {
    if (flows_[slot].live && flows_[slot].loose) Place(slot);
  }
  loose_.clear();
  for (std::uint32_t at : touched_) {
    links_[at].touched = false;
    PlaceGroup(at);
  }
  touched_.clear();
}

// Gives a new flow a first share: where it would get least if it joined now. The links correct it.
void FlowEngine::Seat(Slot slot) {
  Flow& flow = flows_[slot];
  std::uint64_t least = flow.cap;
  std::uint32_t where = kNone;
  for (std::uint32_t hop = 0; hop < flow.hops; ++hop) {
    if (!Awake(flow, hop)) continue;
    const Entry& entry = entries_[flow.first + hop];
    const Link& link = links_[entry.link];
    const std::uint64_t left = link.capacity > link.foreign ? link.capacity - link.foreign : 0;
    // A link with room for all that the flow can ask needs no division.
    if (link.bound == 0 && flow.cap < kRateMax &&
        Usage(flow.cap, flow.weight, entry.share) <= left) {
      continue;
    }
    const std::uint64_t weight = link.weight + std::uint64_t{flow.weight} * entry.share;
    const bool whole = link.fractional == 0 && entry.share == Hop::kWhole;
    const std::uint64_t level =
        whole ? left / (weight >> 31)
              : static_cast<std::uint64_t>((static_cast<Wide>(left) << 31) / weight);
    if (level < least) {
      least = level;
      where = hop;
    }
  }
  Rebind(slot, where);
  SetFlowLevel(slot, least);
  if (where == kNone) return;
  links_[LinkOf(flow)].fresh = true;
  Mark(LinkOf(flow));
}

void FlowEngine::Settle() {
  if (!dirty_) return;
  dirty_ = false;
  ++counters_.settled;
  const bool many = arrived_.size() > 64 && arrived_.size() * 8 > active_;
  if (!many) {
    for (Slot slot : arrived_) {
      if (flows_[slot].live) Seat(slot);
    }
  }
  arrived_.clear();
  if (many || !Propagate()) FullSolve();
  Gather();
}

std::optional<SimTime> FlowEngine::NextFinish() {
  Settle();
  if (queue_.empty()) return std::nullopt;
  const SimTime end = queue_.front().at;
  if (end == SimTime::Max()) return std::nullopt;
  return end;
}

void FlowEngine::AdvanceTo(SimTime time, std::vector<Slot>& finished) {
  Settle();
  CHECK(time >= now_ && (queue_.empty() || time <= queue_.front().at));
  now_ = time;
  while (!queue_.empty() && queue_.front().at == now_) {
    const std::uint32_t id = queue_.front().id;
    if (id >= links_.size()) {
      const Slot slot = id - static_cast<std::uint32_t>(links_.size());
      finished.push_back(slot);
      RemoveFromOrder(slot);
      Release(slot);
      continue;
    }
    Group& group = groups_[id];
    Catch(group);
    while (!group.heap.empty() && flows_[group.heap.front()].goal <= group.progress) {
      const Slot slot = group.heap.front();
      finished.push_back(slot);
      RemoveFromOrder(slot);
      Release(slot);
    }
    PlaceGroup(id);  // The next flow of the group ends later.
  }
}

std::uint64_t FlowEngine::RateOf(Slot slot) {
  CHECK(flows_[slot].live);
  Settle();
  return levels_[slot] * flows_[slot].weight;
}

Work FlowEngine::LeftOf(Slot slot) {
  CHECK(flows_[slot].live);
  Settle();
  const Flow& flow = flows_[slot];
  if (flow.bound == kNone) {
    return (flow.goal - static_cast<Wide>(now_.ps)) * levels_[slot] * flow.weight;
  }
  Group& group = groups_[LinkOf(flow)];
  Catch(group);
  return flow.goal > group.progress ? (flow.goal - group.progress) * flow.weight : 0;
}

std::uint64_t FlowEngine::LoadOf(std::uint32_t at) {
  Settle();
  std::uint64_t load = 0;
  for (const Member& member : links_[at].members) {
    load += Usage(levels_[member.flow], flows_[member.flow].weight, entries_[member.entry].share);
  }
  return load;
}

bool FlowEngine::Certified(double tolerance) {
  Settle();
  const auto about = [&](std::uint64_t value) {
    return 64 + static_cast<std::uint64_t>(static_cast<double>(value) * tolerance);
  };
  std::vector<std::uint64_t> loads(links_.size());
  std::vector<std::uint64_t> fastest(links_.size(), 0);
  for (std::uint32_t at = 0; at < links_.size(); ++at) {
    loads[at] = LoadOf(at);
    for (const Member& member : links_[at].members) {
      fastest[at] = std::max(fastest[at], levels_[member.flow]);
    }
    if (loads[at] > links_[at].capacity + about(links_[at].capacity)) return false;
  }
  for (Slot slot = 0; slot < flows_.size(); ++slot) {
    const Flow& flow = flows_[slot];
    if (!flow.live) continue;
    const std::uint64_t level = levels_[slot];
    bool held = level + about(level) >= flow.cap;
    for (std::uint32_t hop = 0; hop < flow.hops && !held; ++hop) {
      const std::uint32_t at = entries_[flow.first + hop].link;
      const std::uint64_t capacity = links_[at].capacity;
      const bool full = loads[at] + about(capacity) + links_[at].members.size() * 2 >= capacity;
      held = full && fastest[at] <= level + about(level);
    }
    if (!held) return false;
  }
  return true;
}

std::size_t FlowEngine::BytesUsed() const {
  std::size_t bytes = flows_.capacity() * sizeof(Flow) + levels_.capacity() * sizeof(levels_[0]) +
                      entries_.capacity() * sizeof(Entry) + groups_.capacity() * sizeof(Group) +
                      links_.capacity() * sizeof(Link) + queue_.capacity() * sizeof(End);
  for (const Link& link : links_) bytes += link.members.capacity() * sizeof(Member);
  for (const Group& group : groups_) bytes += group.heap.capacity() * sizeof(Slot);
  return bytes;
}

}  // namespace eidolon::network::flow
