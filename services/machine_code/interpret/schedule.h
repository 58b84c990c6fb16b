// Chooses the lanes that run next: branching, meeting again, waiting for each other.
#pragma once

#include <cstdint>

#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

// Sends lanes of the running group to another step; the others go on behind this one.
void Branch(Warp& warp, std::uint32_t taken, std::uint32_t target);

// Removes lanes for good.
void Exit(Warp& warp, std::uint32_t lanes);

// The running group waits at a convergence barrier for everybody who takes part in it.
void Converge(Warp& warp, std::uint32_t barrier);

// The running group waits for the lanes of a mask.
void Synchronize(Warp& warp, std::uint32_t lanes);

// Whether the warp has passed the barrier without waiting, and others have not come to it since.
// What keeps a program from passing it once more may be passed over (lenient.h).
inline bool IsAhead(const Warp& warp, std::uint32_t barrier) {
  return (warp.ahead_of >> barrier & 1) != 0;
}

// The running group arrives at a barrier of the block, or waits until it may pass it once more
// (IsAhead). `expected`: threads, 0 for all.
struct Arrival {
  std::uint32_t barrier = 0;
  std::uint32_t expected = 0;
  bool waits = true;
  std::uint32_t votes = 0;  // A bit for each lane.
};
void Arrive(Warp& warp, const Arrival& arrival);

// Unites groups that are at one step and chooses the one to run: the lowest. False when none can.
bool Choose(Warp& warp);

// The lowest step at which another group waits to run; the running one must stop there.
std::uint32_t NextMeeting(const Warp& warp);

}  // namespace eidolon::interpret
