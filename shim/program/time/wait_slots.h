// The timed waits of a rank's drivers that moment_keeper.h follows: a slot for each thread that
// waits.
//
// A wait may vanish without a word, because a thread that returned to the program between two
// slices need not come back. So each slice renews the wait. One that was not renewed for some time
// no longer counts, and later another thread may take its slot; the former owner then takes a new
// one.
//
// Thread safe, without locks. Deadlines are of virtual time; all other times are nanoseconds of the
// real monotonic clock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "services/base/sim_time.h"

namespace eidolon::shim::time {

class WaitSlots {
 public:
  // A wait that was not renewed for so long does not count; ten times as long, and its slot is
  // free.
  static constexpr std::int64_t kForgottenNs = 400'000'000;

  // A thread's slot. Each owner has a ticket of its own, which is new each time that the wait is
  // renewed.
  struct Hold {
    std::size_t slot = 0;
    std::uint64_t ticket = 0;  // 0: it holds none.
  };
  // A wait, and since when it lasts.
  struct Wait {
    base::SimTime deadline;
    std::int64_t since_ns = 0;
  };

  constexpr WaitSlots() = default;

  // The thread of the hold waits until `deadline`. Returns whether that is new. Without a free slot
  // the wait is not kept.
  bool Keep(Hold& hold, base::SimTime deadline, std::int64_t now_ns) noexcept;
  // It waits no longer.
  void Stop(Hold& hold, std::int64_t now_ns) noexcept;
  // The wait with the earliest deadline.
  std::optional<Wait> Earliest(std::int64_t now_ns) const noexcept;
  // Forgets all waits. Requires: no other thread uses the slots.
  void Clear() noexcept;

 private:
  struct Slot {
    std::atomic<std::uint64_t> ticket{0};      // Of its owner; 0: free.
    std::atomic<std::int64_t> deadline_ps{0};  // 0: not known yet.
    std::atomic<std::int64_t> since_ns{0};
    std::atomic<std::int64_t> renewed_ns{0};
  };

  // False when another thread has taken the slot; the hold is then empty.
  bool Renew(Hold& hold, std::int64_t now_ns) noexcept;
  bool Take(Hold& hold, std::int64_t now_ns) noexcept;

  std::array<Slot, 64> slots_{};
  std::atomic<std::uint64_t> next_ticket_{1};
};

}  // namespace eidolon::shim::time
