// Samples of host work that the processes of a server have in common: ranks that do the same are
// charged the same, so that what one of them met by chance on this machine does not become skew of
// the cluster, and each place has the samples of all of them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/contract/ring/shared_host_costs.h"
#include "shim/program/host_time/sample.h"

namespace eidolon::shim::host_time {

// Thread safe; samples that two processes write at once may replace each other. What stands in the
// memory is not trusted: callers compare it with samples of their own.
class SharedCosts {
 public:
  // `rows` are ring::kSharedHostCosts rows that other processes share. Does not own them.
  explicit SharedCosts(ring::SharedHostCost* rows) noexcept : rows_(rows) {}

  // Adds a sample of a place; what all processes' samples say of it (LowOf). 0: there are too few,
  // or there is no room for the place.
  float Add(std::uint64_t place, Sample sample) noexcept;
  // The same without a sample.
  float LowOfAll(std::uint64_t place) const noexcept;

  static constexpr std::uint32_t kEnough = 4;

 private:
  static constexpr std::size_t kTries = 8;
  static float LowOfRow(const ring::SharedHostCost& row) noexcept;

  ring::SharedHostCost* rows_;
};

}  // namespace eidolon::shim::host_time
