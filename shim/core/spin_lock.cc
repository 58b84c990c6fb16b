#include "shim/core/spin_lock.h"

#include "shim/core/system.h"

namespace eidolon::shim::core {

void SpinLock::LockSlowly() noexcept {
  for (int spin = 0; spin < 100; ++spin) {
    std::uint32_t expected = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_weak(expected, kHeld, std::memory_order_acquire)) {
      return;
    }
    SpinPause();
  }
  while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
    FutexWait(&state_, kContended, -1);
  }
}

void SpinLock::WakeOne() noexcept { FutexWake(&state_, 1); }

}  // namespace eidolon::shim::core
