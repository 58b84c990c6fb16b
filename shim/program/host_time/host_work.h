// One thread's host work: what each stretch of it between two calls costs on the target.
#pragma once

#include <cstdint>

#include "shim/program/host_time/cache_warmth.h"
#include "shim/program/host_time/call_history.h"
#include "shim/program/host_time/gap_costs.h"
#include "shim/program/host_time/long_work.h"
#include "shim/program/host_time/shared_costs.h"

namespace eidolon::shim::host_time {

// This class is not shared between threads. Calls come in pairs: Before, then After.
class HostWork {
 public:
  // `shared`: samples of all processes of the server, or null; outlives this.
  explicit HostWork(SharedCosts* shared = nullptr) : costs_(shared) {}

  // Work of the thread since the last call ended, in picoseconds of processor time.
  struct Stretch {
    std::uint64_t work_ps = 0;
    std::uint64_t fault_ps = 0;         // Of these, in page faults; 0: not known, of short work.
    std::uint64_t since_switch_ps = 0;  // Work since the thread got its core back, before this.
  };
  // The thread makes the call `call` now. What its work costs at the core's full speed, where
  // `speed` is the part of it that the core has now.
  std::uint64_t Before(std::uint64_t call, const Stretch& stretch, double speed) noexcept;
  // In the counted model, where short work has its costs, the thread makes a call after short work,
  // or after long work: then whether that is rare here (Before is asked only if it is not).
  void NoteShort(std::uint64_t call) noexcept { long_.NoteShort(history_.CoarsePlaceBefore(call)); }
  bool IsRare(std::uint64_t call) noexcept {
    return long_.NoteLong(history_.CoarsePlaceBefore(call));
  }
  // The call has ended.
  void After(std::uint64_t call, std::uint64_t detail) noexcept { history_.Push(call, detail); }

 private:
  CallHistory history_;
  GapCosts costs_;
  CacheWarmth warmth_;
  LongWork long_;
};

}  // namespace eidolon::shim::host_time
