// Watches where some steps of a kernel, branches among them, lead while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/machine_code/interpret/flow.h"
#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// A copy of a program whose handlers take note. Of one thread, one at a time; the program outlives
// it.
class BranchWatch {
 public:
  BranchWatch(const Program& program, std::span<const std::uint32_t> steps);
  ~BranchWatch();
  BranchWatch(const BranchWatch&) = delete;
  BranchWatch& operator=(const BranchWatch&) = delete;

  // To be run instead of the program; runs alike.
  const Program& program() const { return watched_; }
  // Returns the trace of the steps: which ran, and where they led as far as that was always to one
  // step.
  BlockTrace trace() const;

 private:
  // Targets of a branch.
  struct Ways {
    std::optional<std::uint32_t> next;  // As in Decision.
    bool parted = false;                // To more than one step.
  };
  static void Note(Warp& warp, const Step& step, std::uint32_t mask);
  void Went(std::size_t step, std::uint32_t next);

  const Program& program_;
  Program watched_;
  std::vector<Ways> ways_;  // By step.
};

}  // namespace eidolon::interpret
