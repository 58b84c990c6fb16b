// The state of a running block: its warps, registers, shared memory.
//
// A warp's lanes run in groups, each with a program counter of its own. The runnable group with the
// lowest counter runs; groups that meet become one. Convergence barriers and block barriers hold
// groups back.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/machine_code/interpret/effect.h"
#include "services/machine_code/interpret/memory.h"
#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/unknowns.h"

namespace eidolon::interpret {

enum class Stop : std::uint8_t {
  kNone,
  kUnknownRead,  // A byte that nobody knows was read.
  kFault,        // An access outside memory, or misaligned.
  kLimit,        // Too many instructions or pages.
  kDeadlock,     // Nothing can run.
  kTrap,         // The program stopped itself.
  kUnknownWay,   // What is unknown decides where to go on, or where to store.
};

struct Dims {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;
  std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dims&) const = default;
};

// State that all blocks of a launch share.
struct LaunchState {
  const Program* program = nullptr;
  Memory* memory = nullptr;
  Dims grid;
  Dims block;
  std::vector<std::byte> bank0;
  std::uint32_t parameter_base = 0;  // In bank 0.
  // One for each word from there to the bank's end: set when it is read; may be nullptr.
  std::uint8_t* words_read = nullptr;
  std::uint32_t first_shared = 0;  // Behind what the system keeps for itself.
  std::uint32_t shared_begin = 0;  // Of the addresses that a block may use.
  std::uint32_t shared_bytes = 0;
  std::uint32_t stack_bytes = 0;
  std::uint32_t local_bytes = 0;  // Of those, what a thread may touch.
  std::uint64_t steps_left = 0;   // Warp instructions.
  std::uint64_t lane_steps = 0;   // Thread instructions so far.
  Stop stop = Stop::kNone;
  std::uint64_t stop_address = 0;
  // Goes on where it reads an unknown byte (unknown_steps.h).
  bool tracks_unknown = false;
  std::vector<Effect> effects{};  // Then: of each step.

  void End(Stop reason, std::uint64_t address = 0) {
    if (stop == Stop::kNone) {
      stop = reason;
      stop_address = address;
    }
  }

  Page* PageOf(std::uint64_t address) {
    const std::uint64_t number = address / kPageBytes;
    Entry& entry = recent_[number % recent_.size()];
    if (entry.page == nullptr || entry.number != number) {
      Page* page = memory->FindPage(number);
      if (page == nullptr) return nullptr;
      entry = {number, page};
    }
    return entry.page;
  }

 private:
  struct Entry {
    std::uint64_t number = 0;
    Page* page = nullptr;
  };
  std::array<Entry, 64> recent_{};
};

struct Block;

// kAhead: the warp has come to a barrier of the block again before others have come to it once.
enum class Wait : std::uint8_t { kRunnable, kConvergence, kWarp, kBlock, kAhead };

struct Group {
  std::uint32_t lanes = 0;
  std::uint32_t at = 0;  // Index of the next step.
  Wait wait = Wait::kRunnable;
  std::uint32_t barrier = 0;  // Which one, or (kWarp) whom it waits for.
};

inline constexpr unsigned kBarriers = 16;

struct Warp {
  Block* block = nullptr;
  LaunchState* launch = nullptr;
  std::uint32_t* rows = nullptr;
  std::array<std::uint32_t, 9> predicate{};          // 7: always true; 8: nobody reads it.
  std::array<std::uint32_t, 9> uniform_predicate{};  // All lanes alike.
  std::array<std::uint32_t, kUniformRegisters> uniform{};
  std::array<Lanes, kBarriers> convergence{};  // Who takes part, as each lane sees it.
  std::uint32_t first_thread = 0;
  std::uint32_t live = 0;
  // Result of the last barrier of the block.
  std::uint32_t barrier_votes = 0;
  bool barrier_flag = false;
  bool barrier_wants_all = false;  // The flag is "all" instead of "any".
  bool touched_memory = false;     // Other than constants.
  std::uint16_t ahead_of = 0;      // Barriers of the block that it has passed and others have not.

  std::vector<Group> groups;
  std::uint32_t current = 0;  // Index in groups.

  WarpUnknowns* unknowns = nullptr;  // Of a launch that tracks them.

  // Clears the warp to a new one, but for convergence barriers that are not named; what it has
  // allocated stays. Member by member: a copy of a new one costs more than a small kernel's
  // instructions.
  void Clear(unsigned convergence_barriers) {
    block = nullptr;
    launch = nullptr;
    rows = nullptr;
    predicate.fill(0);
    uniform_predicate.fill(0);
    Zero(uniform.data(), sizeof(uniform));
    Zero(convergence.data(), convergence_barriers * sizeof(Lanes));
    first_thread = 0;
    live = 0;
    barrier_votes = 0;
    barrier_flag = false;
    barrier_wants_all = false;
    touched_memory = false;
    ahead_of = 0;
    groups.clear();
    current = 0;
    unknowns = nullptr;
  }

  std::uint32_t* Row(unsigned row) { return rows + row * kLanes; }
  Group& group() { return groups[current]; }

 private:
  // By the library's function: where the size is known, compilers repeat a string instruction,
  // which takes longer to begin than this takes.
  static void Zero(void* memory, std::size_t bytes) {
    asm("" : "+r"(bytes));
    std::memset(memory, 0, bytes);
  }
};

struct BlockBarrier {
  std::uint32_t arrived = 0;
  std::uint32_t expected = 0;  // 0: every live thread.
  std::uint32_t votes = 0;
  bool all = true;
  bool any = false;
};

struct Block {
  LaunchState* launch = nullptr;
  Dims index;
  std::vector<Warp> warps;
  std::vector<std::uint32_t> rows;
  std::vector<std::byte> shared;
  std::vector<std::byte> local;  // local_bytes for each thread.
  std::array<BlockBarrier, kBarriers> barriers{};
  std::uint32_t live_threads = 0;
  BlockUnknowns unknowns;  // Of a launch that tracks them.
};

// Generic addresses of shared and local memory begin here; the lower half is the address there.
inline constexpr std::uint64_t kSharedWindow = 0x7e01000000000000u;
inline constexpr std::uint64_t kLocalWindow = 0x7e02000000000000u;

}  // namespace eidolon::interpret
