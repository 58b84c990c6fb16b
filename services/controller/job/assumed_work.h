// This bounds how much longer work may last whose length is a guess.
//
// A guessed duration says nothing of the work's size: a kernel of 763 us was once guessed at 2 us.
// Nothing is known of what such a launch moves, but the bound: it reads and writes each byte that
// its rank has allocated on the GPU at most once, at the memory's bandwidth. The band's upper end
// allows for that; the lower one cannot be lower by more than the guess, which its error has.
#pragma once

#include <cstdint>
#include <span>

namespace eidolon::controller::job {

// This is what a rank has allocated on its GPU, and how fast that GPU's memory is; 0: not told.
struct AllocatedMemory {
  std::uint64_t bytes = 0;
  std::uint64_t bytes_per_second = 0;
};

// The figures are of an iteration, on the rank with the most launches that are guessed.
struct AssumedWork {
  double launches = 0;
  double seconds = 0;           // As guessed.
  std::uint64_t bytes_max = 0;  // That a launch moves.
  double seconds_max = 0;       // Of all launches; at least `seconds`.
};

// `memory`: of all ranks, of which the one that has allocated most counts. A bandwidth that is not
// known bounds nothing.
AssumedWork BoundAssumed(double launches, double seconds, std::span<const AllocatedMemory> memory);

}  // namespace eidolon::controller::job
