// Since Volta each lane has a program counter, and the hardware decides which lanes run together.
// Any choice is right for a program that is right. The group with the lowest counter runs first,
// because compilers put the place where ways meet behind the ways: groups that are ahead wait there
// until the others come, and unite. The running group also stops where another one stands
// (NextMeeting). The price is that a group which loops until a lane further on acts is never passed
// over; such a launch ends at the limit of steps. Waiting counts only lanes that live, so an exit
// must release, too.
#include "services/machine_code/interpret/schedule.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace eidolon::interpret {
namespace {

// Lanes that wait in the given way.
template <typename Matches>
std::uint32_t Waiting(const Warp& warp, Matches&& matches) {
  std::uint32_t lanes = 0;
  for (const Group& group : warp.groups) {
    if (matches(group)) lanes |= group.lanes;
  }
  return lanes;
}

void Release(Group& group) {
  group.wait = Wait::kRunnable;
  ++group.at;
}

// Returns the lanes that take part in the barrier at which the group waits, as its first lane sees
// it.
std::uint32_t PartakersOf(const Warp& warp, const Group& group) {
  const auto lane = static_cast<unsigned>(std::countr_zero(group.lanes));
  return warp.convergence[group.barrier][lane] | group.lanes;
}

// Lets groups go whose partners have all come or gone.
void ReleaseMet(Warp& warp) {
  for (std::size_t i = 0; i < warp.groups.size(); ++i) {
    const Group& first = warp.groups[i];
    if (first.wait == Wait::kConvergence) {
      const std::uint32_t wanted = PartakersOf(warp, first) & warp.live;
      const std::uint32_t barrier = first.barrier;
      // A function that calls itself uses one barrier at several depths: those of other partakers.
      const auto same = [&](const Group& group) {
        return group.wait == Wait::kConvergence && group.barrier == barrier &&
               (group.lanes & wanted) != 0 && (PartakersOf(warp, group) & warp.live) == wanted;
      };
      if ((wanted & ~Waiting(warp, same)) != 0) continue;
      for (Group& group : warp.groups) {
        if (same(group)) Release(group);
      }
    } else if (first.wait == Wait::kWarp) {
      const std::uint32_t mask = first.barrier;
      const auto same = [&](const Group& group) {
        return group.wait == Wait::kWarp && group.barrier == mask;
      };
      if ((mask & warp.live & ~Waiting(warp, same)) != 0) continue;
      for (Group& group : warp.groups) {
        if (same(group)) Release(group);
      }
    }
  }
}

void CompleteBarrier(Block& block, std::uint32_t number) {
  BlockBarrier& barrier = block.barriers[number];
  for (Warp& warp : block.warps) {
    warp.ahead_of &= static_cast<std::uint16_t>(~(1u << number));
    for (Group& group : warp.groups) {
      if (group.barrier != number) continue;
      if (group.wait == Wait::kAhead) group.wait = Wait::kRunnable;
      if (group.wait != Wait::kBlock) continue;
      Release(group);
      warp.barrier_flag = warp.barrier_wants_all ? barrier.all : barrier.any;
      warp.barrier_votes = barrier.votes;
    }
  }
  barrier = {};
}

void CheckBarrier(Block& block, std::uint32_t number) {
  const BlockBarrier& barrier = block.barriers[number];
  if (barrier.arrived == 0) return;
  const std::uint32_t expected = barrier.expected == 0 ? block.live_threads : barrier.expected;
  if (barrier.arrived >= expected) CompleteBarrier(block, number);
}

}  // namespace

void Branch(Warp& warp, std::uint32_t taken, std::uint32_t target) {
  Group& group = warp.group();
  if (taken == group.lanes) {
    group.at = target;
    return;
  }
  group.lanes &= ~taken;
  ++group.at;
  if (taken != 0) warp.groups.push_back({.lanes = taken, .at = target});
}

void Exit(Warp& warp, std::uint32_t lanes) {
  Group& group = warp.group();
  warp.live &= ~lanes;
  group.lanes &= ~lanes;
  ++group.at;
  Block& block = *warp.block;
  block.live_threads -= static_cast<std::uint32_t>(std::popcount(lanes));
  if (group.lanes == 0) warp.groups.erase(warp.groups.begin() + warp.current);
  warp.current = 0;
  ReleaseMet(warp);
  for (std::uint32_t i = 0; i < kBarriers; ++i) CheckBarrier(block, i);
}

void Converge(Warp& warp, std::uint32_t barrier) {
  Group& group = warp.group();
  group.wait = Wait::kConvergence;
  group.barrier = barrier;
  ReleaseMet(warp);
}

void Synchronize(Warp& warp, std::uint32_t lanes) {
  Group& group = warp.group();
  if ((lanes & warp.live & ~group.lanes) == 0) {
    ++group.at;
    return;
  }
  group.wait = Wait::kWarp;
  group.barrier = lanes;
  ReleaseMet(warp);
}

// A warp that arrives without waiting may come again before the barrier is complete. It is held
// back then (kAhead), or it would be counted twice.
void Arrive(Warp& warp, const Arrival& arrival) {
  Group& group = warp.group();
  if (!arrival.waits && IsAhead(warp, arrival.barrier)) {
    group.wait = Wait::kAhead;
    group.barrier = arrival.barrier;
    return;
  }
  BlockBarrier& barrier = warp.block->barriers[arrival.barrier];
  const std::uint32_t votes = arrival.votes & group.lanes;
  barrier.arrived += static_cast<std::uint32_t>(std::popcount(group.lanes));
  barrier.expected = std::max(barrier.expected, arrival.expected);
  barrier.votes += static_cast<std::uint32_t>(std::popcount(votes));
  barrier.all = barrier.all && votes == group.lanes;
  barrier.any = barrier.any || votes != 0;
  if (arrival.waits) {
    group.wait = Wait::kBlock;
    group.barrier = arrival.barrier;
  } else {
    ++group.at;
    if (group.lanes == warp.live) {
      warp.ahead_of |= static_cast<std::uint16_t>(1u << arrival.barrier);
    }
  }
  CheckBarrier(*warp.block, arrival.barrier);
}

bool Choose(Warp& warp) {
  auto& groups = warp.groups;
  std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
  for (const Group& group : groups) {
    if (group.wait == Wait::kRunnable) lowest = std::min(lowest, group.at);
  }
  if (lowest == std::numeric_limits<std::uint32_t>::max()) return false;
  constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();
  std::size_t kept = kNobody;
  for (std::size_t i = 0; i < groups.size();) {
    if (groups[i].wait != Wait::kRunnable || groups[i].at != lowest) {
      ++i;
    } else if (kept == kNobody) {
      kept = i++;
    } else {
      groups[kept].lanes |= groups[i].lanes;
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  warp.current = static_cast<std::uint32_t>(kept);
  return true;
}

std::uint32_t NextMeeting(const Warp& warp) {
  std::uint32_t lowest = std::numeric_limits<std::uint32_t>::max();
  for (std::size_t i = 0; i < warp.groups.size(); ++i) {
    const Group& group = warp.groups[i];
    if (i != warp.current && group.wait == Wait::kRunnable) lowest = std::min(lowest, group.at);
  }
  return lowest;
}

}  // namespace eidolon::interpret
