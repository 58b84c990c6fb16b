#include "shim/core/reply_slots.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "services/contract/ring/layout.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

constexpr int kWords = ring::kReplySlots / 64;
static_assert(ring::kReplySlots % 64 == 0);

// Bit set: taken.
constinit std::array<std::atomic<std::uint64_t>, kWords> taken{};

int Take() noexcept {
  while (true) {
    for (int word = 0; word < kWords; ++word) {
      std::uint64_t bits = taken[word].load(std::memory_order_relaxed);
      while (bits != ~std::uint64_t{0}) {
        const int bit = std::countr_one(bits);
        if (taken[word].compare_exchange_weak(bits, bits | (std::uint64_t{1} << bit),
                                              std::memory_order_acquire)) {
          return word * 64 + bit;
        }
      }
    }
    RealSleep(100'000);
  }
}

// Gives the slot back when the thread ends.
struct Owner {
  int slot = -1;
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (slot < 0) return;
    taken[slot / 64].fetch_and(~(std::uint64_t{1} << (slot % 64)), std::memory_order_release);
    slot = -1;
  }
};

}  // namespace

int OwnReplySlot() noexcept {
  thread_local Owner owner;
  if (owner.slot < 0) owner.slot = Take();
  return owner.slot;
}

}  // namespace eidolon::shim::core
