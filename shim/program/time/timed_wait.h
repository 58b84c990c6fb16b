// A wait with a timeout on a virtual clock, carried out in slices of real time. It ends when the
// event comes, when virtual time has passed the deadline, or when as much real time has gone by as
// was asked for: it neither fires early because virtual time runs fast nor hangs because it runs
// slowly. A driver's wait that lasts is told to the agent (moment_keeper.h): when nothing earlier
// can happen in the job, virtual time passes the deadline at once. A deadline beyond the end of
// virtual time is none.
//
// What comes late because the machine is slow comes before the timeout: as much real time ends a
// driver's wait only while nobody in the process is at work, nobody of it waits for the simulation,
// and no host function is on its way. In the measured host model work in the process is time too:
// there a wait also ends when the process has used as much processor time as was asked for.
//
// Of 8 ranks with 18 communicators each, 144 watchdogs wait for a tenth of a second over and over.
// Where virtual time runs slowly they sleep through, instead of looking at the clock every 20 ms:
// each look takes a processor, and its caches, from a rank.
#pragma once

#include <cstdint>

#include "services/base/sim_time.h"

namespace eidolon::shim::time {

// One timed wait of the calling thread. Not shared.
class TimedWait {
 public:
  // `object` and the deadline identify the wait: a program that is woken without cause and waits
  // again for the same deadline continues the same budget of real time.
  TimedWait(const void* object, base::SimTime deadline) noexcept;

  // Real nanoseconds to wait next: longer where virtual time, at the pace of the thread's last
  // waits, is far from the deadline, unless the thread drives the clock.
  std::int64_t SliceNs() const noexcept;
  // After a slice without the event: true when the wait is over; a driver's clock is then at the
  // deadline.
  bool Expired() noexcept;
  // The same for a wait that is a way to yield: it may end, but says nothing about time.
  bool ExpiredAsYield() noexcept;
  // The event came.
  void Ended() noexcept;

  base::Duration length() const noexcept { return length_; }

  // Waits with `wait_once(ns)` until that gives anything but `timed_out`, or to the deadline: then
  // the result is `timed_out`.
  template <typename Result, typename WaitOnce>
  Result Repeat(Result timed_out, WaitOnce&& wait_once) {
    while (true) {
      const Result result = wait_once(SliceNs());
      if (result != timed_out) {
        Ended();
        return result;
      }
      if (Expired()) return timed_out;
    }
  }

 private:
  bool IsOver() noexcept;
  std::int64_t PacedSliceNs() const noexcept;
  void NotePace(std::int64_t elapsed_ns) noexcept;
  bool NobodyWorks(std::int64_t now_ns) noexcept;

  base::SimTime deadline_;
  base::Duration length_;
  std::int64_t started_real_ns_;
  std::int64_t budget_real_ns_;
};

}  // namespace eidolon::shim::time
