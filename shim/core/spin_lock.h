// A lock for sections of a few dozen nanoseconds: spins a little, then sleeps in the kernel. Not
// recursive; safe from interposed wait functions. Works with std::lock_guard.
#pragma once

#include <atomic>
#include <cstdint>

namespace eidolon::shim::core {

class SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void lock() noexcept {
    std::uint32_t expected = kFree;
    if (!state_.compare_exchange_strong(expected, kHeld, std::memory_order_acquire)) LockSlowly();
  }
  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) WakeOne();
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kHeld = 1;
  static constexpr std::uint32_t kContended = 2;

  void LockSlowly() noexcept;
  void WakeOne() noexcept;

  std::atomic<std::uint32_t> state_{kFree};
};

}  // namespace eidolon::shim::core
