// Durations must not depend on the order of the network's answers, so placement works on the local
// timeline, in program order, and never looks back: work that was placed keeps its times, and the
// newcomer pays. A lane's windows are sorted and disjoint, so overlaps are found by binary search,
// and between two boundaries every rate is constant. Windows that end before the host's clock are
// dropped, because no later work can start there. Only a collective and work of a higher priority
// move what was placed (Push); the delay is returned, so that the streams concerned can pass it on.
#include "services/agent/device/contention.h"

#include <algorithm>

#include "services/base/check.h"

namespace eidolon::agent::device {

using base::Duration;
using base::SimTime;

namespace {

// Work progresses at granted / wanted of its speed.
struct Rate {
  std::uint32_t granted;
  std::uint32_t wanted;
};

Rate RateOf(std::uint32_t wanted, std::uint32_t used) {
  const std::uint32_t free = used >= kWholeShare ? 0 : kWholeShare - used;
  return {std::min(free, wanted), wanted};
}

bool IsSlower(Rate a, Rate b) {
  return std::uint64_t{a.granted} * b.wanted < std::uint64_t{b.granted} * a.wanted;
}

// Of multiprocessors and memory the scarcer one counts.
Rate SlowerOf(Rate multiprocessors, std::uint32_t memory, std::uint32_t used_memory) {
  if (memory == 0) return multiprocessors;
  const Rate of_memory = RateOf(memory, used_memory);
  return IsSlower(of_memory, multiprocessors) ? of_memory : multiprocessors;
}

}  // namespace

int Contention::AddLane(Delay delay, int priority) {
  const Lane lane{.in_use = true, .delay = delay, .priority = priority};
  for (const Lane& other : lanes_) {
    has_priorities_ = has_priorities_ || (other.in_use && other.priority != priority);
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!lanes_[i].in_use) {
      lanes_[i] = lane;
      return static_cast<int>(i);
    }
  }
  lanes_.push_back(lane);
  return static_cast<int>(lanes_.size()) - 1;
}

void Contention::RemoveLane(int lane) {
  // What was placed still runs: the windows stay until the lane is given out again.
  lanes_[static_cast<std::size_t>(lane)].in_use = false;
}

bool Contention::Pushes(int priority, const Lane& other) const {
  return other.in_use && other.delay == Delay::kPossible && priority < other.priority;
}

Contention::Placed Contention::Place(const Request& request) {
  delayed_.clear();
  if (request.resource == Resource::kNone || request.lane < 0) return {request.alone, {}};
  overlapping_.clear();
  const auto resource = static_cast<std::size_t>(request.resource);
  const int priority = lanes_[static_cast<std::size_t>(request.lane)].priority;
  const bool may_push = has_priorities_ && request.resource == Resource::kMultiprocessors;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (static_cast<int>(i) == request.lane) continue;
    const auto& windows = lanes_[i].windows[resource];
    if (windows.empty() || windows.back().end <= request.start) continue;
    const bool only_held = may_push && Pushes(priority, lanes_[i]);
    auto first = std::partition_point(windows.begin(), windows.end(), [&](const Window& window) {
      return window.end <= request.start;
    });
    for (; first != windows.end(); ++first) {
      if (!only_held || first->held) overlapping_.push_back(&*first);
    }
  }
  const SimTime end = overlapping_.empty() ? request.start + request.alone : FindEnd(request);
  if (may_push) {
    const Window window{request.start, end, request.share, request.memory, false};
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (Pushes(priority, lanes_[i])) PushLane(i, resource, window);
    }
  }
  Remember(request, end, false);
  return {end - request.start, delayed_};
}

std::span<const Contention::Delayed> Contention::Hold(const Request& request) {
  delayed_.clear();
  if (request.resource == Resource::kNone || request.lane < 0) return delayed_;
  const Window held{request.start, request.start + request.alone, request.share, request.memory,
                    true};
  Remember(request, held.end, true);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (static_cast<int>(i) == request.lane || !lanes_[i].in_use) continue;
    if (lanes_[i].delay == Delay::kNever) continue;
    PushLane(i, static_cast<std::size_t>(request.resource), held);
  }
  return delayed_;
}

void Contention::PushLane(std::size_t lane, std::size_t resource, const Window& newcomer) {
  auto& windows = lanes_[lane].windows[resource];
  if (windows.empty() || windows.back().end <= newcomer.start) return;
  const SimTime end = windows.back().end;
  const Duration by = Push(windows, newcomer);
  if (by.ps > 0) delayed_.push_back({.lane = static_cast<int>(lane), .end = end, .by = by});
}

// What runs beside the newcomer gets what it leaves, of the memory only a collective's: a priority
// decides which blocks run, not whose bytes come first. What comes behind that in the lane moves by
// as much, less what the lane had to wait for anyway.
Duration Contention::Push(std::deque<Window>& windows, const Window& newcomer) const {
  const auto first =
      std::partition_point(windows.begin(), windows.end(),
                           [&](const Window& window) { return window.end <= newcomer.start; });
  Duration moved;
  SimTime before = SimTime{} - gap_;  // End of the previous window, as it was.
  for (auto at = first; at != windows.end(); ++at) {
    const Window was = *at;
    const Duration idle = at == first ? Duration{} : was.start - before - gap_;
    moved = std::max(Duration{}, moved - std::max(Duration{}, idle));
    before = was.end;
    at->start = was.start + moved;
    at->end = was.end + moved;
    if (was.held) {  // Its start is told already: nothing moves it.
      *at = was;
      moved = {};
      if (at == first) continue;
      Window& last = *std::prev(at);
      last.end = std::min(last.end, was.start);
      last.start = std::min(last.start, last.end);
      continue;
    }
    const SimTime from = std::max(at->start, newcomer.start);
    if (from >= newcomer.end || from >= at->end) continue;
    const std::uint32_t share = std::clamp<std::uint32_t>(was.share, 1, kWholeShare);
    const Rate rate =
        SlowerOf(RateOf(share, newcomer.share), newcomer.held ? was.memory : 0, newcomer.memory);
    if (rate.granted >= rate.wanted) continue;
    // At granted / wanted of its speed until it or the newcomer ends.
    const std::uint32_t lost = rate.wanted - rate.granted;
    const Duration beside = newcomer.end - from;
    auto slower =
        static_cast<std::int64_t>(static_cast<base::Wide>(beside.ps) * lost / rate.wanted);
    if (rate.granted > 0) {
      const auto whole = static_cast<std::int64_t>(static_cast<base::Wide>((at->end - from).ps) *
                                                   lost / rate.granted);
      slower = std::min(slower, whole);
    }
    at->end = at->end + Duration{slower};
    moved = moved + Duration{slower};
  }
  return windows.back().end - before;
}

// Walks from boundary to boundary of the windows; between two the rate is constant.
SimTime Contention::FindEnd(const Request& request) const {
  const std::uint32_t share = std::clamp<std::uint32_t>(request.share, 1, kWholeShare);
  const std::uint32_t memory = std::min(request.memory, kWholeShare);
  SimTime now = request.start;
  auto left = request.alone.ps;
  while (left > 0) {
    std::uint32_t used = 0, used_memory = 0;
    SimTime boundary = SimTime::Max();
    for (const Window* window : overlapping_) {
      if (window->end <= now) continue;
      if (window->start <= now) {
        used += window->share;
        used_memory += window->memory;
        boundary = std::min(boundary, window->end);
      } else {
        boundary = std::min(boundary, window->start);
      }
    }
    const auto [granted, wanted] = SlowerOf(RateOf(share, used), memory, used_memory);
    if (granted == 0) {
      now = boundary;
      continue;
    }
    const auto needed =
        static_cast<std::int64_t>((static_cast<base::Wide>(left) * wanted + granted - 1) / granted);
    if (boundary == SimTime::Max() || needed <= (boundary - now).ps) return now + Duration{needed};
    const auto span = (boundary - now).ps;
    left -= static_cast<std::int64_t>(static_cast<base::Wide>(span) * granted / wanted);
    now = boundary;
  }
  return now;
}

void Contention::Remember(const Request& request, SimTime end, bool held) {
  Lane& lane = lanes_[static_cast<std::size_t>(request.lane)];
  auto& windows = lane.windows[static_cast<std::size_t>(request.resource)];
  while (!windows.empty() && windows.front().end <= request.issued) windows.pop_front();
  if (windows.size() >= kWindowLimit) windows.pop_front();
  if (end <= request.start) return;
  CHECK(windows.empty() || windows.back().end <= request.start);
  // Adjoining windows of one share are one: a busy stream then costs a single entry.
  if (!windows.empty() && windows.back().end == request.start &&
      windows.back().share == request.share && windows.back().memory == request.memory &&
      windows.back().held == held) {
    windows.back().end = end;
    return;
  }
  windows.push_back({request.start, end, request.share, request.memory, held});
}

}  // namespace eidolon::agent::device
