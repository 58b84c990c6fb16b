// Counts the operators of its framework that a thread ran since its last call of the shim. Written
// by whoever stands before the framework's dispatcher (shim/pytorch/torch_operators), taken by the
// rank clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace eidolon::shim::core {

namespace internal {
[[gnu::tls_model("initial-exec")]] inline constinit thread_local std::uint32_t operators = 0;
inline constinit std::atomic<bool> operators_are_counted{false};
}  // namespace internal

inline void CountOperator() noexcept {
  if (internal::operators++ == 0) {
    internal::operators_are_counted.store(true, std::memory_order_relaxed);
  }
}

// Those of the calling thread since it last asked.
inline std::uint32_t TakeOperators() noexcept { return std::exchange(internal::operators, 0); }

// Returns whether this process ever ran one that was counted.
inline bool OperatorsAreCounted() noexcept {
  return internal::operators_are_counted.load(std::memory_order_relaxed);
}

}  // namespace eidolon::shim::core
