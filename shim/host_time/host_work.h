// One thread's host work: what each stretch of it between two calls costs on the target.
#pragma once

#include <cstdint>

#include "shim/host_time/cache_warmth.h"
#include "shim/host_time/call_history.h"
#include "shim/host_time/gap_costs.h"
#include "shim/host_time/shared_costs.h"
#include "shim/host_time/short_places.h"

namespace eidolon::shim::host_time {

// Not shared. Calls come in pairs: Before, then After.
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
  // The same in the counted model, which knows of short work what it costs: in the place of Before.
  void NoteShort(std::uint64_t call) noexcept { short_.Note(history_.CoarsePlaceBefore(call)); }
  // Whether work before this call was short here, as far as is known.
  bool IsShort(std::uint64_t call) const noexcept {
    return short_.Has(history_.CoarsePlaceBefore(call));
  }
  // The call has ended.
  void After(std::uint64_t call, std::uint64_t detail) noexcept { history_.Push(call, detail); }

 private:
  CallHistory history_;
  GapCosts costs_;
  CacheWarmth warmth_;
  ShortPlaces short_;
};

}  // namespace eidolon::shim::host_time
