// Tracks what a rank has launched since its last call of NCCL: how much, and a hash of it in order,
// by which ranks of a folded job that are assumed to be alike are compared.
#pragma once

#include <cstdint>
#include <utility>

#include "services/base/hash.h"

namespace eidolon::agent::session {

// A value. Main loop only.
class LaunchedWork {
 public:
  // `likeness`: of the work's entry in the cost table.
  void Add(std::uint64_t likeness) {
    ++launches_;
    digest_ = base::FoldedMultiply(digest_ ^ likeness, kStep);
  }
  std::uint64_t launches() const { return launches_; }
  std::uint64_t digest() const { return digest_; }
  LaunchedWork Take() { return std::exchange(*this, {}); }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;

  std::uint64_t launches_ = 0;
  std::uint64_t digest_ = kStep;
};

}  // namespace eidolon::agent::session
