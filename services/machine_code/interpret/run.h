// Running one launch of a translated kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/machine_code/interpret/idle_warps.h"
#include "services/machine_code/interpret/memory.h"
#include "services/machine_code/interpret/program.h"
#include "services/machine_code/interpret/warp.h"

namespace eidolon::interpret {

struct Launch {
  Dims grid;
  Dims block;
  std::uint32_t dynamic_shared_bytes = 0;
  // What the system keeps for itself in shared memory may be accessed: code of 10.0 notes there
  // which columns of tensor memory it has taken. Zeros at first.
  bool reaches_system_words = false;
  std::span<const std::byte> parameters;
  bool cooperative = false;  // Blocks may wait for each other.
  // Indices of the blocks to run, x first; empty: all of them. Requires: not cooperative.
  std::span<const std::uint64_t> blocks{};
  // If given, receives 1 for each word of four bytes of the parameters that was read, 0 for the
  // others.
  std::vector<std::uint8_t>* words_read = nullptr;
  // If given, warps that were idle in such a launch do not run. The outcome is the same.
  IdleWarps* idle = nullptr;
  // Reading an unknown byte does not end the launch: what is computed of it is unknown, as are the
  // bytes where it is stored (written and not known). Slower, hence for launches that have shown to
  // read one. Requires: no `idle`.
  bool tracks_unknown = false;
};

struct Limits {
  std::uint64_t warp_steps = 4'000'000;
  // A launch whose first eight blocks foretell more than so many ends there, as if it had come to
  // its limit. 0: never; not of cooperative launches.
  std::uint64_t foretold_warp_steps = 0;
};

// End of a launch. What it wrote until then is marked in the pages; when it was stopped, nobody may
// use it.
struct Outcome {
  Stop stop = Stop::kNone;
  std::uint64_t address = 0;     // What a stop is about.
  std::uint64_t lane_steps = 0;  // Thread instructions.
};

// Memory for the state of running blocks, to be used again by the next launch: a small launch costs
// less than the pages that its state would be put in. Empty at first; belongs to one thread.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // The first `count` blocks, as they were left.
  std::span<const std::unique_ptr<Block>> Take(std::size_t count);

 private:
  std::vector<std::unique_ptr<Block>> blocks_;
};

// Deterministic: blocks run one after another (together when cooperative), a block's warps in
// turns.
Outcome Run(const Program& program, const Launch& launch, Memory& memory, const Limits& limits,
            Workspace& workspace);
// The same with a workspace of its own.
Outcome Run(const Program& program, const Launch& launch, Memory& memory, const Limits& limits);

}  // namespace eidolon::interpret
